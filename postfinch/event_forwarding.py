"""Post a stage's events to a URL, in the form that webhooks have.

The events search is polled, so no connection from outside is needed. Events may be recorded later
than they happened. So each poll looks again at the last minutes, and the ids of the events there
are kept: each event is posted once, and those of one poll in the order of their times.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import urllib3

from postfinch.http_api import Api
from postfinch.json_types import Json

#: Seconds by which an event may be recorded late and is still posted
OVERLAP = 300.0
#: Seconds of events that are read at once when there is much to catch up on
_WINDOW = 3600.0
_BATCH = 500
_OF_THE_SEARCH = ("display_name", "event_description")
_TIMES = ("timestamp", "expiration_timestamp")
_BATCH_HEADERS = {"msys": "X-MessageSystems-Batch-ID"}
_OK = 200


@dataclass(slots=True)
class Progress:
    """How far the events are posted, in seconds since the epoch.

    ``start`` is the time of the earliest event to post, and ``until`` the end of the last poll.
    ``event_ids`` has the posted events of the overlap with their times.
    """

    start: float
    until: float
    event_ids: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Progress | None:
        """Return the progress of a file; raises ValueError if it is none."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except TypeError:
            raise ValueError("it has other fields") from None

    def write(self, path: Path) -> None:
        """Replace the file."""
        new = path.with_name(path.name + ".new")
        new.write_text(json.dumps(asdict(self)), encoding="utf-8")
        new.replace(path)


@dataclass(frozen=True, slots=True)
class ForwardedBatch:
    """A batch to post; it has the same id at each attempt."""

    id: str
    events: list[Json]

    def types(self) -> str:
        """Return the types of the events and how many there are of each."""
        counts: dict[str, int] = {}
        for event in self.events:
            counts[event["type"]] = counts.get(event["type"], 0) + 1
        return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))


class Source:
    """The events of a stage, with these filters of the events search."""

    def __init__(self, api: Api, filters: Mapping[str, str], progress: Progress) -> None:
        self._api = api
        self._filters = dict(filters)
        self.progress = progress
        self._keys = _keys(api)

    def poll(self) -> Iterator[ForwardedBatch]:
        """Yield batches of the events that are new; call :meth:`done` with each that was taken."""
        now = time.time()
        progress = self.progress
        while True:
            end = min(now, progress.until + _WINDOW)
            start = max(progress.start, progress.until - OVERLAP)
            events = self._new_events(start, max(start, end))
            for index in range(0, len(events), _BATCH):
                yield ForwardedBatch(str(uuid.uuid4()), events[index : index + _BATCH])
            progress.until = max(progress.until, end)
            oldest = progress.until - OVERLAP
            progress.event_ids = {
                name: moment for name, moment in progress.event_ids.items() if moment >= oldest
            }
            if end >= now:
                return

    def done(self, batch: ForwardedBatch) -> None:
        """Note that the events of a batch are posted."""
        times = {event["event_id"]: _seconds(event) for event in batch.events}
        self.progress.event_ids |= times

    def body(self, batch: ForwardedBatch) -> bytes:
        """Return the body of a POST."""
        elements = [self._element(event) for event in batch.events]
        return json.dumps(elements, separators=(",", ":")).encode()

    @property
    def batch_header(self) -> str:
        """The header with the id of a batch."""
        outer = next(iter(self._keys.values()), ("svc", ""))[0]
        return _BATCH_HEADERS.get(outer, "X-SVC-Batch-ID")

    def _new_events(self, start: float, end: float) -> list[Json]:
        query = {**self._filters, "from": _iso(start), "to": _iso(end), "cursor": "initial"}
        events: list[Json] = []
        while True:
            page: Json = self._api.document("GET", "/events/message", query=query)
            events += [e for e in page["results"] if e["event_id"] not in self.progress.event_ids]
            link = page.get("links", {}).get("next")
            if not link:
                return sorted(events, key=_seconds)
            query = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))

    def _element(self, event: Json) -> Json:
        outer, inner = self._keys.get(event["type"], ("svc", "message_event"))
        fields = {name: value for name, value in event.items() if name not in _OF_THE_SEARCH}
        for name in _TIMES:
            if name in fields:
                fields[name] = str(int(datetime.fromisoformat(fields[name]).timestamp()))
        return {outer: {inner: fields}}


class Target:
    """A URL that batches are posted to."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json", "User-Agent": "Postfinch", **headers}
        self._pool = urllib3.PoolManager(timeout=timeout, retries=False)

    def post(self, body: bytes, headers: Mapping[str, str]) -> str:
        """Post a batch; return why it was not taken, or nothing if it was."""
        try:
            response = self._pool.request(
                "POST", self._url, body=body, headers={**self._headers, **headers}
            )
        except urllib3.exceptions.HTTPError as error:
            return f"{self._url} does not answer: {error}"
        if response.status != _OK:
            return f"{self._url} answered {response.status}, not {_OK}"
        return ""


def _keys(api: Api) -> dict[str, tuple[str, str]]:
    """Return the two keys around an event of each type, from the samples of webhooks."""
    return {
        event["type"]: (outer, inner)
        for element in api.get("/webhooks/events/samples")
        for outer, content in element.items()
        for inner, event in content.items()
    }


def _seconds(event: Json) -> float:
    return datetime.fromisoformat(event["timestamp"]).timestamp()


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
