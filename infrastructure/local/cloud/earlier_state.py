"""Take over the state of version 0.1.0, whose files stay where they are.

This module goes with 0.3.0: the first start of 0.2.0 takes the state over.

``state/current`` is a symbolic link to a directory with one JSON file for each service; items and
messages are inside the tables and queues there. Each object is a file below ``objects``, with a
second one that describes it. The archives of functions are in ``lambda-blobs``.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import traceback
from ast import literal_eval
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.store import NAME, DamagedState, Store, create
from infrastructure.local.notices import REFUSED

#: What MiniStack writes for its stores of entries that belong to an account (and a region)
SCOPED = ("__account_region_scoped__", "__scoped__")
_FORMAT = "__ministack_format__"
_DESCRIPTION = ".meta.json"
# Service, attribute, and member of each entry: what is stored apart from the entry
_CONTENTS = {("dynamodb", "tables"): "items", ("sqs", "queues"): "messages"}
_Name = tuple[str, str, str]


def exists(data: Path) -> bool:
    """Tell whether there is such a state under ``data``; raises :class:`DamagedState`."""
    root = data / "state"
    if (data / NAME).exists() or not root.is_dir():
        return False
    if not (root / "current").exists():
        raise DamagedState(root / "current", "is missing")
    return True


def take_over(data: Path, archives: Path) -> None:
    """Write the database from that state, in a process of its own.

    Raises :class:`DamagedState`, or SystemExit if that process has told which file is damaged.

    MiniStack reads the declarations there, and must be without any where they are then served.
    """
    process = os.fork()
    if process:
        _, status = os.waitpid(process, 0)
        if os.waitstatus_to_exitcode(status) == REFUSED:
            raise SystemExit(REFUSED)
        if status:
            raise DamagedState(data / "state", "cannot be taken over (see the lines above)")
        return
    status = 1
    try:
        source = data / "state" / "current"
        archives.mkdir(exist_ok=True)
        for archive in (source / "lambda-blobs").glob("*.zip"):
            shutil.copyfile(archive, archives / archive.name)
        create(data / NAME, lambda store: _fill(store, source, data / "objects"))
        status = 0
    except DamagedState as damage:
        print(damage, file=sys.stderr, flush=True)
        status = REFUSED
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def _fill(store: Store, source: Path, objects: Path) -> None:
    from infrastructure.local.cloud.documents import Documents
    from infrastructure.local.cloud.queues import Queues
    from infrastructure.local.cloud.stored_objects import StoredObjects
    from infrastructure.local.cloud.tables import Tables

    contents: defaultdict[str, dict[_Name, Any]] = defaultdict(dict)
    for path in sorted(source.glob("*.json")):
        try:
            state = json.loads(path.read_bytes())
        except ValueError as error:
            raise DamagedState(path, f"is damaged ({error})") from None
        if isinstance(state, dict) and _FORMAT in state:
            state = state["payload"]
        for attribute, value in state.items():
            for entry, text in _entries(path.stem, attribute, value, contents):
                row = (path.stem, attribute, entry, text)
                store.write("INSERT INTO documents VALUES (?, ?, ?, ?)", row)
    Documents(store).restore()
    tables, queues = Tables(store), Queues(store, asyncio.new_event_loop())
    tables.adopt()
    queues.adopt()
    for table in tables:
        for partition in contents["items"].get(table.name, {}).values():
            for item in partition.values():
                table.put(item)
    for queue in queues:
        for message in contents["messages"].get(queue.name, ()):
            queue.restore(message)
    target = StoredObjects(store, objects, synchronizes=True)
    target.adopt()
    for description in sorted(objects.rglob(f"*{_DESCRIPTION}")):
        account, bucket = description.relative_to(objects).parts[:2]
        record = json.loads(description.read_bytes())
        file = target.adopt_file(Path(str(description).removesuffix(_DESCRIPTION)))
        target.bucket(account, bucket).put(record.pop("key"), record, file)


def _entries(
    service: str, attribute: str, value: Any, contents: dict[str, dict[_Name, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield the documents of an attribute; ``contents`` gets what is stored apart from them."""
    if not isinstance(value, dict) or not any(value.get(kind) for kind in SCOPED):
        yield "", json.dumps(value)
        return
    yield "", json.dumps({**value, "data": {}})
    member = _CONTENTS.get((service, attribute))
    for key, entry in value["data"].items():
        if member:
            account, region, name = key.split("\0", 2)
            contents[member][account, region, literal_eval(name)] = _popped(entry, member)
        yield key, json.dumps(entry)


def _popped(entry: Json, member: str) -> Any:
    contents = entry.pop(member, None) or ()
    if member == "messages":
        # MiniStack completes its entry, and the messages are not among what it declares
        entry[member] = []
    return contents
