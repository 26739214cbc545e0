"""Keep the profiles of stages: for each name, where the service is and the key to use.

They are in ``profiles.toml`` in the user's configuration folder, which only the user may read. The
profile ``local`` is the service that ``postfinch run`` started on this machine; it needs no entry.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from postfinch import local_service, locations
from postfinch.local_service import SeveralServices

LOCAL = "local"
_PLACE = ("stage", "aws_profile", "region", "endpoint_url", "data_dir")


@dataclass(frozen=True, slots=True)
class Profile:
    """A service and the key to use there; some commands need other things than these.

    ``postfinch move`` needs the name of a deployed ``stage``, with a profile of the AWS
    configuration, a region and the address of an emulator if they are not those of the AWS
    variables; or else the ``data_dir`` of a service on one machine.
    """

    name: str
    url: str = ""
    key: str = ""
    subaccount: int | None = None
    stage: str = ""
    aws_profile: str = ""
    region: str = ""
    endpoint_url: str = ""
    data_dir: str = ""

    @property
    def place(self) -> dict[str, str]:
        """What ``postfinch move`` needs, with the profile's name; raises :class:`NoProfile`."""
        if bool(self.stage) == bool(self.data_dir):
            raise NoProfile(
                f"the profile {self.name!r} does not say where its data is: add it again with "
                f"`postfinch profiles add {self.name} --stage STAGE`, or `--data-dir FOLDER` for "
                "one machine"
            )
        texts = {name: getattr(self, name) for name in ("name", *_PLACE)}
        return {name: text for name, text in texts.items() if text}


class NoProfile(Exception):
    """There is no such profile, or no local service; the text says what to do."""


def choose(name: str | None) -> Profile:
    """Return the profile of this call.

    It is the one with this name, else that of the environment (``POSTFINCH_URL`` and
    ``POSTFINCH_API_KEY``, or ``POSTFINCH_PROFILE``), else the local service.
    """
    environ = os.environ
    if name is None and environ.get("POSTFINCH_URL"):
        return Profile(
            "environment", environ["POSTFINCH_URL"], environ.get("POSTFINCH_API_KEY", "")
        )
    name = name or environ.get("POSTFINCH_PROFILE") or LOCAL
    if name == LOCAL and LOCAL not in read(locations.profiles_file()):
        return _local()
    profile = stored(name)
    if not profile.url:
        raise NoProfile(f"the profile {name!r} has no address: add it again with --url and --key")
    return profile


def stored(name: str) -> Profile:
    """Return the profile with this name from the file; raises :class:`NoProfile`."""
    profiles = read(locations.profiles_file())
    if name not in profiles:
        raise NoProfile(
            f"there is no profile {name!r}: add it with `postfinch profiles add {name}`"
        )
    return profiles[name]


def read(path: Path) -> dict[str, Profile]:
    """Return the profiles of a file by name; none if there is no file."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise NoProfile(f"{path} is not TOML: {error}") from None
    try:
        return {name: Profile(name, **table) for name, table in tables.items()}
    except TypeError as error:
        raise NoProfile(f"{path} has a profile that cannot be used: {error}") from None


def write(path: Path, profiles: dict[str, Profile]) -> None:
    """Replace the profiles of a file."""
    lines: list[str] = []
    for profile in profiles.values():
        lines.append(f"[{_quoted(profile.name)}]")
        for name in ("url", "key", *_PLACE):
            if text := getattr(profile, name):
                lines.append(f"{name} = {_quoted(text)}")
        if profile.subaccount is not None:
            lines.append(f"subaccount = {profile.subaccount}")
        lines.append("")
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text("\n".join(lines), encoding="utf-8")
    new.replace(path)


def _local() -> Profile:
    try:
        folder = local_service.running_folder()
    except SeveralServices as error:
        raise NoProfile(str(error)) from None
    service = local_service.find(folder)
    if service is None:
        raise NoProfile(
            f"no local service runs on {folder}: start it with `postfinch run`, or choose a stage "
            "with --profile"
        )
    return Profile(LOCAL, service.api_url, service.api_key)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not escaped.isprintable():
        raise NoProfile("names, addresses and keys of profiles are printable text")
    return f'"{escaped}"'
