"""``postfinch mail receive``: play messages into a local service, as mail that comes in."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlsplit

import typer

from postfinch import receiving
from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_rows
from postfinch.http_api import Api, ApiError
from postfinch.receiving import NotReceived

_NOT_FOUND = 404
_NO_SUCH_RECIPIENT = 550
_PAUSE = 0.05
_SENDER = "sender@example.org"


def receive(
    eml: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A file with a complete message (RFC 822), - for standard input; repeat it for "
            "more. Without one, a message is made of --subject and --text.",
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(help="A recipient; repeat it for more. Else those in To and Cc."),
    ] = None,
    sender: Annotated[
        str | None,
        typer.Option("--from", help="The envelope sender. Else the address in From."),
    ] = None,
    subject: Annotated[str, typer.Option(help="The subject, without --eml.")] = "",
    text: Annotated[str | None, typer.Option(help="The text, without --eml.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until each message can be read.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds that --wait takes at most.")] = 30,
    port: Annotated[
        int | None,
        typer.Option(
            help="The port for mail that comes in; that of the service on this machine is known.",
            rich_help_panel="Connection",
        ),
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play messages into a local service, as mail that comes in from another mail host.

    It prints the id and the recipient of each: `postfinch inbound show ID` shows the message. The
    domain of the recipient must be an inbound domain (`postfinch inbound add DOMAIN`).
    """
    if not eml and not (to and (subject or text is not None)):
        fail("name a file by --eml, or make a message by --to, --subject and --text", 2)
    if eml and (subject or text is not None):
        fail("--subject and --text are for a message without --eml", 2)
    sources = list(_sources(eml or [], sender, to or [], subject, text))
    api = connect(profile)
    host, number = _inbound_port(api, port)
    rows = []
    for name, source in sources:
        for copy in _play(api, host, number, name, source, sender, to or []):
            rows.append({"id": copy.id, "to": copy.recipient, "file": name})
    if wait:
        _wait(api, [row["id"] for row in rows if row["id"]], timeout)
    headings = {"id": "Id", "to": "To", "file": "File"}
    write_rows(rows, headings, as_json=as_json, empty="")


def _sources(
    eml: list[str], sender: str | None, to: list[str], subject: str, text: str | None
) -> Iterator[tuple[str, bytes]]:
    """Yield each message with the name of its file."""
    if not eml:
        message = receiving.compose(
            sender=_SENDER if sender is None else sender, to=to, subject=subject, text=text or ""
        )
        yield "", message.as_bytes()
    for name in eml:
        try:
            yield name, sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            fail(f"{name} cannot be read: {error.strerror}", 2)


def _inbound_port(api: Api, port: int | None) -> tuple[str, int]:
    """Return host and port for mail that comes in; there is none to play into on a stage."""
    if number := port or receiving.port_of(api.url):
        return urlsplit(api.url).hostname or "localhost", number
    try:
        api.get("/local/mailbox", limit=0)
    except ApiError:
        fail(f"{api.url} is no local service: send the message to its domain by mail", 1)
    fail(
        f"the port of {api.url} for mail that comes in is not known here: name it by --port "
        f"(usually {receiving.USUAL_PORT})",
        1,
    )


def _play(
    api: Api, host: str, port: int, name: str, source: bytes, sender: str | None, to: list[str]
) -> list[receiving.Copy]:
    envelope = receiving.envelope_of(source, sender, to)
    if not envelope.recipients:
        fail(f"{name} has no address in To or Cc: name a recipient by --to", 2)
    try:
        copies = receiving.play(host, port, source, envelope)
    except NotReceived as error:
        fail(f"{f'{name}: ' if name else ''}{error}{_remedy(api, error)}", 1)
    others = set(envelope.recipients) - {each.recipient for each in copies}
    if others:
        note(f"not for this service, and left out: {', '.join(sorted(others))}")
    return copies


def _remedy(api: Api, error: NotReceived) -> str:
    """Say what helps where the domain of a recipient is no inbound domain."""
    domain = error.recipient.rpartition("@")[2]
    if not domain or error.code != _NO_SUCH_RECIPIENT:
        return ""
    try:
        api.get(f"/inbound-domains/{quote(domain, safe='')}")
    except ApiError as answer:
        if answer.status == _NOT_FOUND:
            return f". Register its domain first: postfinch inbound add {domain}"
    return ""


def _wait(api: Api, ids: list[str], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for each in ids:
        while not _is_there(api, each):
            if time.monotonic() > deadline:
                fail(f"{each} cannot be read after {seconds:g} s: does a route drop it?", 1)
            time.sleep(_PAUSE)


def _is_there(api: Api, message_id: str) -> bool:
    try:
        api.get(f"/inbound-messages/{message_id}")
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        return False
    return True
