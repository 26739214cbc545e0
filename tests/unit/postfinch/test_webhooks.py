"""Webhooks are listed, and events are forwarded to a URL of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.webhooks import payload
from postfinch.event_forwarding import OVERLAP, Progress, Source
from postfinch.http_api import Api
from tests.http_target import OK, Post, Reply, Target, serving
from tests.unit.calling import Client
from tests.unit.events.examples import event_at, record
from tests.unit.postfinch.api_server import run


def minute_ago() -> int:
    """In milliseconds. Asked for in each test: late in a long run, an import is too long ago."""
    return int(time.time() * 1000) - 60_000


@pytest.fixture
def target(account: Client) -> Iterator[Target]:
    with serving() as server:
        yield server


def listen(target: Target, *arguments: object, code: int = 0) -> str:
    return run("webhooks", "listen", "--forward", target.url, "--once", *arguments, code=code)


def source(account: Client, start: float) -> Source:
    api = Api(os.environ["POSTFINCH_URL"], account.key)
    return Source(api, {}, Progress(start, start))


def test_events_are_posted_in_the_form_of_webhooks(target: Target) -> None:
    now_ms = minute_ago()
    events = [
        event_at(now_ms, 1, "injection"),
        event_at(now_ms + 1, 1, "bounce", bounce_class="10"),
        event_at(now_ms + 2, 1, "click", ip_address="192.0.2.1"),
        event_at(now_ms + 3, 1, "link_unsubscribe"),
        event_at(now_ms + 4, 1, "generation_failure"),
    ]
    record(events)
    output = listen(target, "--since", "1d")
    assert "5 events: bounce 1, click 1, generation_failure 1" in output
    (post,) = target.posts
    assert post.json == json.loads(payload.message([payload.wrapped(event) for event in events]))
    assert post.headers["content-type"] == "application/json"
    assert post.batch_id


def test_only_chosen_types_are_posted_with_the_chosen_headers(target: Target) -> None:
    now_ms = minute_ago()
    record([event_at(now_ms, 1, "delivery"), event_at(now_ms, 2, "open")])
    listen(target, "--since", "1d", "--events", "open", "--header", "X-Secret: s")
    (post,) = target.posts
    assert [event["type"] for event in post.events()] == ["open"]
    assert post.headers["x-secret"] == "s"


def test_events_before_the_start_are_not_posted(target: Target) -> None:
    now_ms = minute_ago()
    record([event_at(now_ms, 1)])
    listen(target)
    listen(target, "--since", "30s")
    assert target.posts == []
    listen(target, "--since", "1d")
    assert len(target.posts) == 1


def test_a_restart_goes_on_where_the_state_file_says(target: Target, tmp_path: Path) -> None:
    now_ms = minute_ago()
    state = tmp_path / "state.json"
    arguments = ("--since", "1d", "--state", state)
    record([event_at(now_ms, 1)])
    listen(target, *arguments)
    record([event_at(now_ms + 1000, 2)])
    listen(target, *arguments)
    listen(target, *arguments)
    assert [len(post.events()) for post in target.posts] == [1, 1]
    assert len(target.event_ids()) == 2
    state.write_text("[]")
    assert "is no state" in listen(target, *arguments, code=2)


def test_a_refused_batch_is_not_lost(target: Target, tmp_path: Path) -> None:
    now_ms = minute_ago()
    arguments = ("--since", "1d", "--state", tmp_path / "state.json")
    record([event_at(now_ms, 1)])
    target.answer = lambda _: Reply(503)
    assert "answered 503" in listen(target, *arguments, code=1)
    target.answer = lambda _: OK
    listen(target, *arguments)
    assert len(target.posts) == 2


def test_a_batch_is_posted_again_with_its_id_until_the_target_takes_it(target: Target) -> None:
    """The command runs as a process, and ends by Ctrl-C."""
    now_ms = minute_ago()
    record([event_at(now_ms, 1)])

    def answer(_: Post) -> Reply:
        return Reply(500) if len(target.posts) < 2 else OK

    target.answer = answer
    command = [sys.executable, "-m", "postfinch", "webhooks", "listen"]
    arguments = ["--forward", target.url, "--since", "1d", "--interval", "0.1", "--json"]
    process = subprocess.Popen(
        command + arguments,
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    line = json.loads(process.stdout.readline())
    assert len({post.batch_id for post in target.posts}) == 1
    assert line["batch_id"] == target.posts[0].batch_id
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.count("answered 500, not 200; trying again") == 2


def test_events_that_are_recorded_late_are_posted_once(account: Client) -> None:
    now_ms = minute_ago()
    events = source(account, now_ms / 1000 - 60)
    record([event_at(now_ms, 1)])
    seen_ids = []
    for _ in range(3):
        for batch in events.poll():
            events.done(batch)
            seen_ids += [event["message_id"] for event in batch.events]
        record([event_at(now_ms - 30_000, 2)])
    assert len(seen_ids) == len(set(seen_ids)) == 2


def test_ids_are_forgotten_after_the_overlap(account: Client) -> None:
    start = time.time() - 3 * OVERLAP
    events = source(account, start)
    record(
        [event_at(int((start + 1) * 1000), 1), event_at(int((start + 2 * OVERLAP + 5) * 1000), 2)]
    )
    for batch in events.poll():
        events.done(batch)
    assert len(events.progress.event_ids) == 1


def test_events_of_many_hours_are_read_in_the_order_of_time(account: Client) -> None:
    now_ms = minute_ago()
    hour = 3600_000
    record([event_at(now_ms - hours * hour, hours) for hours in (1, 5, 3)])
    events = source(account, now_ms / 1000 - 6 * 3600)
    batches = []
    for batch in events.poll():
        events.done(batch)
        batches.append([event["timestamp"] for event in batch.events])
    assert len(batches) == 3
    assert batches == sorted(batches)


def test_mistakes_of_the_command_line_are_named(account: Client) -> None:
    listen = ("webhooks", "listen", "--forward")
    assert "must begin with http" in run(*listen, "localhost:1", code=2)
    assert "Name: value" in run(*listen, "http://x.test", "--header", "x", code=2)
    assert "such as 2h" in run(*listen, "http://x.test", "--since", "soon", code=2)


def test_webhooks_are_listed(account: Client, target: Target) -> None:
    assert run("webhooks", "list") == ""
    body = {"name": "Ours", "target": target.url, "events": ["open", "click"]}
    webhook_id = account.post("/api/v1/webhooks", body).results["id"]
    fields = run("webhooks", "list").rstrip("\n").split("\t")
    assert fields[:4] == [webhook_id, "Ours", target.url, "yes"]
    assert set(fields[4].split(",")) == {"open", "click"}
    (webhook,) = json.loads(run("webhooks", "list", "--json"))
    assert webhook["id"] == webhook_id
