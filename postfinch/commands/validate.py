"""``postfinch validate``: tell whether mail to addresses is likely to arrive."""

from __future__ import annotations

import sys
import time
from typing import Annotated
from urllib.parse import quote

import typer

from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json, write_rows
from postfinch.http_api import Api
from postfinch.json_types import Json

_PATH = "/recipient-validation"
_BAD = ("undeliverable", "typo")
_POLL_SECONDS = 2.0
_COLUMNS = {
    "address": "Address",
    "result": "Result",
    "delivery_confidence": "Confidence",
    "reason": "Reason",
    "did_you_mean": "Did you mean",
    "is_role": "Role",
    "is_disposable": "Disposable",
    "is_free": "Free",
}


def validate(
    addresses: Annotated[
        list[str] | None, typer.Argument(metavar="ADDRESS...", help="The addresses.")
    ] = None,
    list_id: Annotated[
        str | None, typer.Option("--list", help="Id of a recipient list to validate instead.")
    ] = None,
    copy_to: Annotated[
        str | None,
        typer.Option(help="Id of a new list, to which the good recipients of --list are copied."),
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell whether mail to addresses is likely to arrive; no message is sent.

    The exit code is 1 if an address is undeliverable or a typo, or if a list was not validated.
    """
    if bool(addresses) == bool(list_id):
        fail("name addresses, or a recipient list with --list", 2)
    if copy_to and not list_id:
        fail("--copy-to needs --list", 2)
    api = connect(profile)
    if list_id:
        _validate_list(api, list_id, copy_to, as_json=as_json)
        return
    rows = [{"address": address, **_verdict(api, address)} for address in addresses or []]
    expendable = ("is_free", "is_disposable", "is_role")
    write_rows(rows, _COLUMNS, as_json=as_json, empty="", expendable=expendable)
    if any(row["result"] in _BAD for row in rows):
        raise typer.Exit(1)


def _verdict(api: Api, address: str) -> Json:
    verdict: Json = api.get(f"{_PATH}/single/{quote(address, safe='@')}")
    return verdict


def _validate_list(api: Api, list_id: str, copy_to: str | None, *, as_json: bool) -> None:
    path = f"{_PATH}/list/{quote(list_id, safe='')}"
    job: Json = api.post(path, {"copy": {"id": copy_to}} if copy_to else {})
    while job["status"] == "running":
        _show_progress(job)
        time.sleep(_POLL_SECONDS)
        job = api.get(path)
    if sys.stderr.isatty():
        note("")
    if as_json:
        write_json(job)
    else:
        rows = [{"result": name, "count": count} for name, count in job["counts"].items()]
        columns = {"result": "Result", "count": "Recipients"}
        write_rows(rows, columns, as_json=False, empty="")
        if copy_to and (copied := job["copy"].get("total_accepted_recipients")):
            note(f"{copied} recipients copied to {copy_to}")
    if problem := job.get("problem"):
        note(problem)
        raise typer.Exit(1)


def _show_progress(job: Json) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r{job['checked']} of {job['total']} checked", err=True, nl=False)
