"""``postfinch tail``: events and messages as they happen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer

from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_line
from postfinch.event_following import MESSAGE, Filters, Position, follow_search, follow_stream
from postfinch.http_api import Api, ApiError, Unreachable
from postfinch.json_types import Json

_PAUSE = 5.0
_SERVER_ERROR, _TOO_MANY = 500, 429
_GOOD = ("delivery", "message", "relay_delivery")
_BAD = (
    *("bounce", "out_of_band", "policy_rejection", "generation_failure", "spam_complaint"),
    *("relay_rejection", "relay_permfail"),
)
_DETAILS = ("raw_reason", "reason", "target_link_url", "subject")


def tail(
    events: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated types, such as delivery,bounce; `message` is an arrival in the "
            "mailbox of a local service. All if there are none."
        ),
    ] = None,
    to: Annotated[str | None, typer.Option(help="Only those of this recipient.")] = None,
    campaign: Annotated[str | None, typer.Option(help="Only those of this campaign.")] = None,
    interval: Annotated[
        float, typer.Option(help="Seconds between two polls of a stage.", min=1)
    ] = 2,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write each event and message as it happens, until Ctrl-C.

    A local service streams them; the events search of a stage is polled. With --json, each is an
    object on a line of its own, as searches show it.
    """
    types = frozenset(filter(None, (each.strip() for each in (events or "").split(","))))
    filters = Filters(types, to, campaign)
    api = connect(profile)
    if searched := types - {MESSAGE}:
        # The stream filters nothing, so a type that does not exist would only show nothing
        api.get("/events/message/samples", events=",".join(sorted(searched)))
    for item in _items(api, filters, interval):
        if as_json:
            typer.echo(json.dumps(item, ensure_ascii=False))
        else:
            _write(item)


def _items(api: Api, filters: Filters, interval: float) -> Iterator[Json]:
    """Yield what happens, however often the connection breaks after it once worked."""
    streams, has_begun = True, False
    position = Position()
    while True:
        try:
            if streams:
                for item in follow_stream(api, filters):
                    if item is None:
                        note(f"following {api.url}")
                        has_begun = True
                    else:
                        yield item
                note("the service ended the stream; trying again")
            else:
                yield from follow_search(api, filters, interval, position)
        except ApiError as error:
            if streams and not has_begun and error.status < _SERVER_ERROR:
                streams = False  # a stage has no stream
                if filters.types == {MESSAGE}:
                    fail(f"{api.url} has no mailbox: only a local service has one", 1)
                api.get("/events/message", per_page=1)
                note(f"polling {api.url}")
                has_begun = True
                continue
            if error.status < _SERVER_ERROR and error.status != _TOO_MANY:
                raise
            note(f"{error}; trying again")
        except Unreachable as error:
            if not has_begun:
                raise
            note(f"{error}; trying again")
        time.sleep(_PAUSE)


def _write(item: Json) -> None:
    kind = item["type"]
    style = "green" if kind in _GOOD else "red" if kind in _BAD else ""
    detail = next((item[name] for name in _DETAILS if item.get(name)), "")
    fields = (_local_time(item), kind, item.get("rcpt_to", ""), " ".join(str(detail).split()))
    write_line("\t".join(fields), style=style)


def _local_time(item: Json) -> str:
    moment = datetime.fromisoformat(item["timestamp"])
    return moment.astimezone().isoformat(timespec="milliseconds")
