"""Define the options that many commands have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from postfinch import profiles
from postfinch.http_api import Api
from postfinch.machine_checks import CONFIG_VARIABLE

ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        "-p",
        help="The profile of the service to use; the one on this machine if there is none.",
        envvar="POSTFINCH_PROFILE",
        rich_help_panel="Connection",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        help="Configuration file.",
        envvar=CONFIG_VARIABLE,
        show_default="/etc/postfinch/postfinch.toml",
    ),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(help="Folder of all data.", envvar="DATA_DIR", show_default="/var/lib/postfinch"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]


def connect(profile: str | None) -> Api:
    """Return the API of a profile."""
    target = profiles.choose(profile)
    return Api(target.url, target.key, target.subaccount)


def with_folders(
    environment: Mapping[str, str], config: Path | None, data_dir: Path | None
) -> dict[str, str]:
    """Return an environment in which the options about one machine count."""
    paths = {CONFIG_VARIABLE: config, "DATA_DIR": data_dir}
    return {**environment, **{name: str(each.absolute()) for name, each in paths.items() if each}}
