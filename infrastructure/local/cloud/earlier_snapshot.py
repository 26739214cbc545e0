"""Read the state that version 0.1.0 kept: a directory with one JSON file for each service.

This module goes with 0.3.0: a start of 0.2.0 rewrites the state.

``current`` is a symbolic link to it. Items and messages are inside the tables and queues there.
"""

from __future__ import annotations

import json
import shutil
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.redo_log import DamagedState

_LINK = "current"
_ARCHIVES = "lambda-blobs"
_FORMAT = "__ministack_format__"
#: What MiniStack writes for its stores of entries that belong to an account (and a region)
SCOPED = ("__account_region_scoped__", "__scoped__")
# Service, attribute, and member of each entry: the values with a change of their own
_CONTENTS = {("dynamodb", "tables"): "items", ("sqs", "queues"): "messages"}


def paths(root: Path) -> list[Path]:
    """Return what an earlier version left under ``root``."""
    directories = [path for path in root.iterdir() if path.is_dir() and path.name.isdigit()]
    return [path for path in (root / _LINK,) if path.is_symlink()] + directories


def exists(root: Path) -> bool:
    """Tell whether there is such a state; raises :class:`DamagedState` for a part of one."""
    if paths(root) and not (root / _LINK).exists():
        raise DamagedState(root / _LINK, "is missing")
    return (root / _LINK).exists()


def copy_archives(root: Path, directory: Path) -> None:
    """Copy the archives of functions to ``directory``."""
    directory.mkdir(exist_ok=True)
    for archive in (root / _LINK / _ARCHIVES).glob("*.zip"):
        shutil.copyfile(archive, directory / archive.name)


def changes(root: Path) -> Iterator[Change]:
    """Yield the changes that make this state of nothing; raises :class:`DamagedState`."""
    for path in sorted((root / _LINK).glob("*.json")):
        try:
            state = json.loads(path.read_bytes())
        except (ValueError, OSError) as error:
            raise DamagedState(path, f"cannot be read ({error})") from None
        if isinstance(state, dict) and _FORMAT in state:
            state = state["payload"]
        for attribute, value in state.items():
            yield from _attribute(path.stem, attribute, value)


def _attribute(service: str, name: str, value: Any) -> Iterator[Change]:
    path = ("document", service, name)
    if not isinstance(value, dict) or not any(value.get(kind) for kind in SCOPED):
        yield Change(path, _encoded(value))
        return
    yield Change(path, _encoded({**value, "data": {}}))
    member = _CONTENTS.get((service, name)) if value.get(SCOPED[0]) else None
    for key, entry in value["data"].items():
        contents = entry.pop(member, None) if member else None
        yield Change((*path, key), _encoded(entry))
        account, region, quoted_key = key.split("\0", 2) if contents else ("", "", "''")
        scope = account, region, literal_eval(quoted_key)
        if isinstance(contents, dict):
            for pk, partition in contents.items():
                for sk, item in partition.items():
                    yield Change(("item", *scope, pk, sk), _encoded(item))
        for message in contents if isinstance(contents, list) else ():
            yield Change(("message", *scope, message["id"]), _encoded(message))


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
