"""Define the options that many commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from postfinch import profiles
from postfinch.http_api import Api

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
JsonOption = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]


def connect(profile: str | None) -> Api:
    """Return the API of a profile."""
    target = profiles.choose(profile)
    return Api(target.url, target.key, target.subaccount)
