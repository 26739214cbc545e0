"""``postfinch profiles``: the stages that the other commands may use."""

from __future__ import annotations

from typing import Annotated

import typer

from postfinch import locations, profiles
from postfinch.commands.options import JsonOption
from postfinch.commands.output import note, write_rows
from postfinch.http_api import Api, ApiError
from postfinch.profiles import NoProfile, Profile

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
        str, typer.Option(prompt="Address of the service", help="For example https://x.example.")
    ],
    key: Annotated[
        str, typer.Option(prompt="API key", hide_input=True, help="An API key of the service.")
    ],
    subaccount: Annotated[int | None, typer.Option(help="Act for this subaccount.")] = None,
    check: Annotated[bool, typer.Option(help="Ask the service whether it knows the key.")] = True,
) -> None:
    """Add a profile, or replace the one with its name."""
    if check:
        _check(Api(url, key, subaccount))
    path = locations.profiles_file()
    entries = profiles.read(path) | {name: Profile(name, url, key, subaccount)}
    profiles.write(path, entries)
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
