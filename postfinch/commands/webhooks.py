"""``postfinch webhooks``: list webhooks, and post events to a port of this machine."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json, write_line, write_rows
from postfinch.event_forwarding import ForwardedBatch, Progress, Source, Target
from postfinch.http_api import ApiError, Unreachable

app = typer.Typer(help="List webhooks, and forward events to this machine.", no_args_is_help=True)

_LONGEST_PAUSE = 30.0
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@app.command("list")
def list_webhooks(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """List the webhooks of the account."""
    webhooks = connect(profile).get("/webhooks")
    headings = {
        "id": "Id",
        "name": "Name",
        "target": "Target",
        "active": "Active",
        "events": "Events",
        "last_successful": "Last success",
        "last_failure": "Last failure",
    }
    rows = webhooks if as_json else [w | {"events": ",".join(w["events"])} for w in webhooks]
    write_rows(rows, headings, as_json=as_json, empty="There are no webhooks yet.")


@app.command()
def listen(
    forward: Annotated[
        str, typer.Option(help="Where to post the batches, such as http://localhost:3000/hook.")
    ],
    events: Annotated[
        str | None, typer.Option(help="Event types with commas between; all if there are none.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="A header of each POST, as 'Name: value'.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Begin with events of this time: 30m, 2h, 1d or 2026-01-31T09:00Z."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="A file that says where to go on after a restart."),
    ] = None,
    interval: Annotated[float, typer.Option(help="Seconds between two polls.", min=0.05)] = 2,
    timeout: Annotated[float, typer.Option(help="Seconds that the target may take.")] = 10,
    once: Annotated[
        bool, typer.Option("--once", help="Post what there is, and end; a refusal is no success.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Post new events to a URL of this machine, as a webhook does, until Ctrl-C.

    The events are polled, so nothing has to reach this machine from outside. While the target does
    not answer with 200, its batch is posted again and again.
    """
    if not forward.startswith(("http://", "https://")):
        fail("--forward must begin with http:// or https://", 2)
    api = connect(profile)
    target = Target(forward, dict(map(_header, header or [])), timeout)
    filters = {"events": events} if events else {}
    source = Source(api, filters, _progress(state, since))
    note(f"events of {api.url} go to {forward}")
    has_polled = False
    while True:
        try:
            for batch in source.poll():
                _post(source, target, batch, once=once)
                source.done(batch)
                _save(source, state)
                _report(batch, as_json=as_json)
            _save(source, state)
            has_polled = True
        except (Unreachable, ApiError) as error:
            is_lasting = isinstance(error, ApiError) and error.status < 500 and error.status != 429
            if is_lasting or once or not has_polled:
                raise
            note(f"{error}; trying again")
            time.sleep(_LONGEST_PAUSE / 3)
        if once:
            return
        time.sleep(interval)


def _post(source: Source, target: Target, batch: ForwardedBatch, *, once: bool) -> None:
    """Post a batch, however many attempts that takes."""
    pause = 0.5
    headers = {source.batch_header: batch.id}
    body = source.body(batch)
    while problem := target.post(body, headers):
        if once:
            fail(problem, 1)
        note(f"{problem}; trying again in {pause:g} s")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _report(batch: ForwardedBatch, *, as_json: bool) -> None:
    if as_json:
        ids = [event["event_id"] for event in batch.events]
        write_json({"batch_id": batch.id, "event_ids": ids})
    else:
        write_line(f"{len(batch.events)} events: {batch.types()}")


def _progress(state: Path | None, since: str | None) -> Progress:
    if state is not None:
        try:
            if progress := Progress.read(state):
                return progress
        except ValueError as error:
            fail(f"{state} is no state of this command: {error}", 2)
    start = _time(since) if since else time.time()
    return Progress(start, start)


def _save(source: Source, state: Path | None) -> None:
    if state is not None:
        source.progress.write(state)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        fail(f"--header must be 'Name: value', which {text!r} is not", 2)
    return name.strip(), value.strip()


def _time(text: str) -> float:
    """Return the seconds since the epoch of a time, or of so long ago."""
    if match := re.fullmatch(r"([0-9]+)([smhd])", text):
        return time.time() - int(match[1]) * _UNITS[match[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        fail(f"--since must be a time or an age such as 2h, which {text!r} is not", 2)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
