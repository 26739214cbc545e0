"""Small sends that arrive together are generated and delivered as a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.core.combined_calls import CombinedCalls
from chalicelib.core.settings import settings
from chalicelib.delivery import reports
from chalicelib.delivery.store import work_units
from chalicelib.events import stream
from chalicelib.generation import chunk, worker
from chalicelib.generation_queue import send_small_batch
from chalicelib.suppression import service as suppression
from chalicelib.transmissions.submit import queue_start, submit
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.delivery.mail_host import MailHost
from tests.unit.generation.examples import make_sender
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.suppression.examples import entry
from tests.unit.transmissions.examples import (
    CREATED,
    make_transmission,
    meter,
    recipients,
    request_recipients,
)


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(CREATED / 1000 + 5) as moving:
        make_sender()
        yield moving


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> MailHost:
    return MailHost().install(monkeypatch)


@pytest.fixture(params=["file", "table"])
def journal(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "file":
        monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
        settings.cache_clear()
    kind: str = request.param
    return kind


def submit_singles(count: int, **fields: Any) -> list[str]:
    """Submit transmissions to one recipient each; return their queue messages."""
    for number in range(count):
        transmission = make_transmission(id=f"19193000000000010{number}", **fields)
        to = request_recipients([{"email": f"r{number}@example.test"}])
        submit(transmission, to, meter())
    return queued("small-sends")


def send(bodies: list[str]) -> list[str]:
    """Handle queue messages as one batch; return which failed."""
    response = send_small_batch(sqs_event(bodies))
    return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]


def events() -> Counter[tuple[str, str]]:
    messages = [queues.read(body) for body in queued("events")]
    emitted = [event for message in messages for event in stream.decode(message)]
    return Counter((event["type"], event["rcpt_to"]) for event in emitted)


def expected(*numbers: int) -> Counter[tuple[str, str]]:
    kinds = ("injection", "delivery")
    return Counter((kind, f"r{number}@example.test") for number in numbers for kind in kinds)


@pytest.mark.cost
def test_a_group_shares_its_lookups_its_events_and_its_completion(
    journal: str, host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The members wait for each other, however slow this machine is
    monkeypatch.setattr(reports, "CombinedCalls", partial(CombinedCalls, seconds=60))
    bodies = submit_singles(5)
    queues._url("events")
    with aws_requests() as requests:
        assert send(bodies) == []
    counts = Counter(each.operation for each in requests)
    writes = {"UpdateItem": 5} if journal == "table" else {"TransactWriteItems": 1}
    assert counts == {"BatchGetItem": 1, "PutItem": 5, "SendMessage": 1} | writes
    assert events() == expected(0, 1, 2, 3, 4)
    assert len(host.recipients) == 5


def test_a_repeated_group_is_not_delivered_again(journal: str, host: MailHost) -> None:
    bodies = submit_singles(3)
    for _ in range(3):
        assert send(bodies) == []
    assert host.counts == {f"r{number}@example.test": 1 for number in range(3)}


def test_a_bad_message_fails_alone(host: MailHost, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = submit_singles(3)
    damaged = first.replace('"payload":"', '"payload":"AAAA')
    assert send([damaged, second, "nonsense", third, '{"head":{"kind":"chunk"}}']) == [
        "m-2",
        "m-0",
        "m-4",
    ]
    assert events() == expected(1, 2)
    assert sorted(host.recipients) == ["r1@example.test", "r2@example.test"]
    assert send([first]) == []
    assert events() == expected(0)


@pytest.mark.parametrize("step", ["record_generation", "_sample_messages", "deliver_at_once"])
def test_a_message_whose_step_fails_does_not_fail_the_others(
    step: str, host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = submit_singles(3)
    place = work_units if step == "record_generation" else worker
    real, failures = getattr(place, step), iter([True])

    def fails_once(*arguments: Any, **options: Any) -> Any:
        if next(failures, False):
            raise ConnectionError(step)
        return real(*arguments, **options)

    monkeypatch.setattr(place, step, fails_once)
    assert len(send(bodies)) == 1
    assert len(host.recipients) == 2
    assert events().total() == 4


def test_each_is_tried_alone_if_the_group_cannot_be_looked_up(
    host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = submit_singles(2)
    monkeypatch.setattr(worker, "look_ahead", lambda *_: 1 / 0)
    assert send(bodies) == []
    assert events() == expected(0, 1)
    assert chunk.look_ahead is not worker.look_ahead


def test_all_are_handled_again_if_their_events_cannot_be_emitted(
    journal: str, time: Clock, host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = submit_singles(3)
    with monkeypatch.context() as broken:
        broken.setattr(stream, "emit", lambda events: 1 / (not events))
        assert sorted(send(bodies)) == ["m-0", "m-1", "m-2"]
    assert events() == Counter()
    assert send(bodies) == []
    if journal == "table":
        assert events() == expected(0, 1, 2)
    assert host.counts == {f"r{number}@example.test": 1 for number in range(3)}


def test_suppression_is_looked_up_for_each_of_the_group(host: MailHost) -> None:
    suppression.put_all(1, None, [entry("r1@example.test")])
    assert send(submit_singles(3)) == []
    assert sorted(host.recipients) == ["r0@example.test", "r2@example.test"]
    assert events()["bounce", "r1@example.test"] == 1


def test_a_start_and_sends_to_several_pass_with_the_group(host: MailHost) -> None:
    transmission = make_transmission(start_ms=CREATED + 1000, resolved=False)
    submit(transmission, recipients(2), meter())
    queue_start(transmission.id)
    submit(make_transmission(id="191930000000000200"), recipients(3), meter())
    assert send([*queued("small-sends"), *submit_singles(1)]) == []
    assert host.counts == {f"r{n}@example.test": count for n, count in ((0, 2), (1, 1), (2, 1))}
    assert send(queued("small-sends")) == []
    assert host.counts.total() == 6
