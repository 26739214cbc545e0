"""``postfinch profiles``: the stages that the other commands may use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from postfinch import locations, profiles
from postfinch.commands.options import JsonOption
from postfinch.commands.output import note, write_rows
from postfinch.http_api import Api, ApiError
from postfinch.profiles import NoProfile, Profile

_MOVE = "For postfinch move"

app = typer.Typer(help="Keep the addresses and keys of stages.", no_args_is_help=True)


@app.command("list")
def list_profiles(as_json: JsonOption = False) -> None:
    """List the profiles, without their keys."""
    rows = [
        {"name": each.name, "url": each.url, "subaccount": each.subaccount}
        for each in profiles.read(locations.profiles_file()).values()
    ]
    headings = {"name": "Name", "url": "Address", "subaccount": "Subaccount"}
    write_rows(rows, headings, as_json=as_json, empty="There are no profiles yet.")


@app.command()
def add(
    name: str,
    url: Annotated[
        str | None, typer.Option(help="Address of the service, for example https://x.example.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="An API key of the service.")] = None,
    subaccount: Annotated[int | None, typer.Option(help="Act for this subaccount.")] = None,
    check: Annotated[bool, typer.Option(help="Ask the service whether it knows the key.")] = True,
    stage: Annotated[
        str, typer.Option(help="Name of the deployed stage.", rich_help_panel=_MOVE)
    ] = "",
    aws_profile: Annotated[
        str, typer.Option(help="Profile of the AWS configuration.", rich_help_panel=_MOVE)
    ] = "",
    region: Annotated[str, typer.Option(help="Region of the stage.", rich_help_panel=_MOVE)] = "",
    endpoint_url: Annotated[
        str, typer.Option(help="Address of an emulator of AWS.", rich_help_panel=_MOVE)
    ] = "",
    data_dir: Annotated[
        str,
        typer.Option(help="Folder of a service on one machine.", rich_help_panel=_MOVE),
    ] = "",
) -> None:
    """Add a profile, or replace the one with its name.

    Address and key are asked for, unless the profile is only a place to move to.
    """
    if url is None and not (stage or data_dir):
        url = typer.prompt("Address of the service")
    if url and key is None:
        key = typer.prompt("API key", hide_input=True)
    if check and url:
        _check(Api(url, key or "", subaccount))
    path = locations.profiles_file()
    folder = str(Path(data_dir).expanduser().absolute()) if data_dir else ""
    profile = Profile(
        name, url or "", key or "", subaccount, stage, aws_profile, region, endpoint_url, folder
    )
    profiles.write(path, profiles.read(path) | {name: profile})
    note(f"{name} is in {path}")


@app.command()
def remove(name: str) -> None:
    """Remove a profile."""
    path = locations.profiles_file()
    entries = profiles.read(path)
    if entries.pop(name, None) is None:
        raise NoProfile(f"there is no profile {name!r}")
    profiles.write(path, entries)


def _check(api: Api) -> None:
    """Raise ApiError if the service does not know the key."""
    try:
        api.get("/account")
    except ApiError as error:
        if error.status != 403:  # a key that may do other things
            raise
