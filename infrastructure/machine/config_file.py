"""Read and write the configuration file of production on one machine (TOML).

It has the names of the settings in lower case, each with a text, a number or ``true``/``false``.
A setting that is a list in JSON may be an array of tables here (``[[oidc_providers]]``).
``POSTFINCH_CONFIG`` names the file; a variable of the environment wins over the same name in it.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

from chalicelib.core.settings import Settings
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine.settings import MachineSettings

PATH = "/etc/postfinch/postfinch.toml"
VARIABLE = "POSTFINCH_CONFIG"

#: Names that a file may have besides the settings: credentials for Amazon SES
AWS_NAMES = frozenset(
    {"aws_access_key_id", "aws_secret_access_key", "aws_session_token", "aws_region"}
)
NAMES = frozenset(each.name for cls in (Settings, MachineSettings) for each in fields(cls))
_LISTS = frozenset({"oidc_providers"})
_VARIABLES = frozenset(name.upper() for name in NAMES | AWS_NAMES)


def path_of(environ: Mapping[str, str]) -> Path:
    """Return where the file is, or would be."""
    return Path(environ.get(VARIABLE) or PATH)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return ``environ`` with what the file adds; raises :class:`ConfigError`.

    Without a file there is nothing to add, unless ``POSTFINCH_CONFIG`` names it. A setting that is
    empty counts as one that is not there: files for containers name all of them.
    """
    caller = {name: text for name, text in environ.items() if text or name not in _VARIABLES}
    path = path_of(environ)
    if not path.exists() and not environ.get(VARIABLE):
        return caller
    return {**{name.upper(): text for name, text in read(path).items()}, **caller}


def read(path: Path) -> dict[str, str]:
    """Return the values of a file by their names; raises :class:`ConfigError`."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    if unknown := sorted(values.keys() - NAMES - AWS_NAMES):
        raise ConfigError(f"{path} has a name that is no setting: {unknown[0]}")
    return {name: _text(path, name, value) for name, value in values.items()}


def write(path: Path, values: Mapping[str, str], comments: Iterable[str] = ()) -> None:
    """Write a file for the owner's eyes only, as it may hold passwords."""
    lines = [*(f"# {comment}" for comment in comments)]
    lines += [f"{name} = {quoted(text)}" for name, text in values.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join([*lines, ""]))
    new.replace(path)


def quoted(text: str) -> str:
    """Return a text as TOML has it; raises :class:`ConfigError` for one with control characters."""
    if not text.isprintable():
        raise ConfigError(f"{text!r} has characters that cannot be written to a configuration file")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _text(path: Path, name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and name in _LISTS:
        try:
            return json.dumps(value)
        except TypeError:  # a date of TOML
            raise ConfigError(f"{path}: {name} has a value that JSON does not have") from None
    raise ConfigError(f"{path}: {name} must be a text, a number, true or false")
