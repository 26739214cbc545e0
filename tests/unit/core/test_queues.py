from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import aws, blobs, clock, compression, queues
from chalicelib.core.queues import MalformedMessage, Received, Work
from chalicelib.core.settings import settings
from tests.fake_cloud import aws_requests, queued, sqs_event, stored_objects
from tests.unit.moving_clock import moving_clock

# Bytes that do not compress, so that a payload's size is known
NOISE = random.Random(1).randbytes(400_000)


@pytest.fixture(autouse=True)
def _in_a_cloud(cloud: None) -> None:
    pass


def messages(queue: str = "events") -> list[Received]:
    return [queues.read(body) for body in queued(queue)]


def consume(bodies: list[str], handle: Any) -> list[str]:
    response = queues.consume("events", sqs_event(bodies), queues.one_by_one(handle))
    return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]


def consume_together(bodies: list[str], handle: Any) -> list[str]:
    response = queues.consume("events", sqs_event(bodies), queues.all_together(handle))
    return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]


def body_of(head: Any, payload: bytes = b"") -> str:
    text = base64.b64encode(compression.compress(payload)).decode()
    return json.dumps({"head": head, "payload": text})


def test_a_message_arrives_with_its_head_and_its_payload() -> None:
    queues.send("events", [Work({"kind": "é", "n": 1}, b"\x00\xff payload")])
    (message,) = messages()
    assert message.head == {"kind": "é", "n": 1}
    assert message.payload() == b"\x00\xff payload"


def test_a_message_may_be_a_head_only() -> None:
    queues.send("events", [Work({"n": 1})])
    assert queued("events") == ['{"head":{"n":1}}']


def test_a_message_names_its_tenant_also_when_it_is_sent_again() -> None:
    works = [Work({"n": 1}, tenant=7), Work({"n": 2})]
    queues.send("events", works)
    event = sqs_event(['{"head":{"n":1}}', '{"head":{"n":2}}'])
    event["Records"][0]["attributes"]["MessageGroupId"] = "7"
    again = queues.one_by_one(lambda message: queues.send_again("events", message, 0))
    with aws_requests() as requests:
        queues.send("events", works)
        queues.consume("events", event, again)
    batch, *singles = [each.parameters for each in requests]
    for messages_of_request in (batch["Entries"], singles):
        assert [each.get("MessageGroupId") for each in messages_of_request] == ["7", None]


@pytest.mark.cost
def test_nothing_to_send_costs_no_request() -> None:
    with aws_requests() as requests:
        queues.send("events", [])
    assert requests == []


@pytest.mark.cost
def test_one_message_costs_one_request() -> None:
    queues.send("events", [Work({"n": 0})])  # finds the queue's address
    with aws_requests() as requests:
        queues.send("events", [Work({"n": 1}, b"x")])
    assert [request.operation for request in requests] == ["SendMessage"]


def test_messages_are_sent_ten_to_a_request() -> None:
    with aws_requests() as requests:
        queues.send("events", (Work({"n": n}) for n in range(21)))
    sizes = [len(each.parameters.get("Entries", "x")) for each in requests[1:]]
    assert sizes == [10, 10, 1]
    assert sorted(message.head["n"] for message in messages()) == list(range(21))


def test_a_request_stays_below_256_kib() -> None:
    payloads = [NOISE[n * 40_000 : (n + 1) * 40_000] for n in range(10)]
    with aws_requests() as requests:
        queues.send("events", [Work({"n": n}, payload) for n, payload in enumerate(payloads)])
    batches = [each.parameters["Entries"] for each in requests[1:]]
    assert [len(batch) for batch in batches] == [4, 4, 2]
    for batch in batches:
        assert sum(len(entry["MessageBody"].encode()) for entry in batch) <= 256 * 1024
    assert sorted(message.payload() for message in messages()) == sorted(payloads)


def test_the_largest_inline_payload_fits_a_message() -> None:
    limit = settings().queue_inline_bytes
    payload = NOISE[: limit - 500]
    queues.send("events", [Work({"head": "x" * 1000}, payload)])
    (body,) = queued("events")
    assert len(body) <= 256 * 1024
    assert stored_objects() == []


def test_a_payload_over_the_inline_limit_travels_in_the_bucket() -> None:
    payload = NOISE[: settings().queue_inline_bytes + 1]
    queues.send("events", [Work({"n": 1}, payload)])
    (body,) = queued("events")
    assert len(body) < 200
    (name,) = stored_objects()
    assert name.startswith("queue/events/")
    message = queues.read(body)
    assert message.payload() == payload


def test_the_limit_is_on_the_compressed_payload() -> None:
    payload = b"a" * 10_000_000
    queues.send("events", [Work({}, payload)])
    assert stored_objects() == []
    assert messages()[0].payload() == payload


@pytest.mark.cost
@pytest.mark.parametrize(
    ("delay", "seconds"), [(0, 0), (-3, 0), (0.01, 1), (1, 1), (1.2, 2), (900, 900), (90_000, 900)]
)
def test_a_delay_is_rounded_up_to_seconds_and_to_what_sqs_can_do(
    delay: float, seconds: int
) -> None:
    with aws_requests() as requests:
        queues.send("events", [Work({}, delay=delay)])
        queues.send("events", [Work({}, delay=delay), Work({})])
    assert requests[1].parameters["DelaySeconds"] == seconds
    assert [entry["DelaySeconds"] for entry in requests[2].parameters["Entries"]] == [seconds, 0]


class Refusing:
    """An SQS client that refuses the entries at odd places, ``times`` times."""

    def __init__(self, times: int) -> None:
        self._times = times
        self.bodies: list[str] = []

    def get_queue_url(self, QueueName: str) -> dict[str, str]:
        return {"QueueUrl": QueueName}

    def send_message_batch(self, QueueUrl: str, Entries: list[Any]) -> dict[str, Any]:
        self._times -= 1
        rejects = Entries[1::2] if self._times >= 0 else []
        self.bodies += [entry["MessageBody"] for entry in Entries if entry not in rejects]
        return {"Failed": [{"Id": entry["Id"], "Code": "InternalError"} for entry in rejects]}


def test_messages_that_sqs_refuses_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Refusing(times=2)
    monkeypatch.setattr(aws, "sqs", lambda: client)
    queues.send("events", [Work({"n": n}) for n in range(8)])
    assert sorted(client.bodies) == [f'{{"head":{{"n":{n}}}}}' for n in range(8)]


def test_messages_that_sqs_keeps_refusing_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws, "sqs", lambda: Refusing(times=99))
    with pytest.raises(RuntimeError, match=r"1 messages were not taken.*InternalError"):
        queues.send("events", [Work({"n": n}) for n in range(8)])


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "null",
        "7",
        '"head"',
        "[]",
        "{}",
        '{"head":null}',
        '{"head":5}',
        '{"head":{},"payload":5}',
        '{"head":{},"blob":["a"]}',
    ],
)
def test_a_body_that_no_part_of_the_service_sent_is_malformed(body: str) -> None:
    with pytest.raises(MalformedMessage):
        queues.read(body)


@given(st.text(max_size=40) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_reading_any_body_fails_with_no_other_error(body: str) -> None:
    try:
        queues.read(body)
    except MalformedMessage:
        return


def test_each_message_is_handled_alone() -> None:
    handled: list[tuple[Any, bytes]] = []
    bodies = [body_of({"n": 1}, b"one"), body_of({"n": 2}, b"two")]
    failed = consume(bodies, lambda m: handled.append((m.head["n"], m.payload())))
    assert (handled, failed) == ([(1, b"one"), (2, b"two")], [])


def fail_on(*bad: int) -> Any:
    def handle(message: Received) -> None:
        if message.head["n"] in bad:
            raise KeyError(message.head["n"])

    return handle


def test_the_response_names_the_messages_that_failed() -> None:
    bodies = [body_of({"n": n}) for n in range(4)]
    assert consume(bodies, fail_on(1, 3)) == ["m-1", "m-3"]


def test_a_batch_whose_messages_all_failed_raises_nothing() -> None:
    assert consume([body_of({"n": 1}), body_of({"n": 1})], fail_on(1)) == ["m-0", "m-1"]


def test_a_malformed_message_fails_alone() -> None:
    bodies = ["nonsense", body_of({"n": 1}), '{"head":{"n":2},"payload":"%%"}', "[" * 100_000]
    seen: list[bytes] = []
    failed = consume(bodies, lambda message: seen.append(message.payload()))
    assert sorted(failed) == ["m-0", "m-2", "m-3"]
    assert seen == [b""]


@pytest.mark.parametrize("rest", ['"1"', "-1", "1e308", "1e999", "NaN", "[]", "null"])
def test_a_delay_that_nobody_sets_is_malformed(rest: str) -> None:
    with pytest.raises(MalformedMessage):
        queues.read(f'{{"head": {{}}, "rest": {rest}}}')


def test_a_long_delay_passes_also_when_the_clock_is_set_back() -> None:
    handled: list[Received] = []
    delays: list[int] = []
    with moving_clock(10_000.0) as now:
        with aws_requests() as requests:
            queues.send("events", [Work({"n": 1}, b"payload", delay=2000.5)])
        for _ in range(3):
            (message,) = [each.parameters for each in requests if "MessageBody" in each.parameters]
            delays.append(message["DelaySeconds"])
            now.passes(delays[-1] - 3_600)
            assert handled == []
            with aws_requests() as requests:
                assert consume([message["MessageBody"]], handled.append) == []
    assert delays == [900, 900, 201]
    assert [(each.head, each.payload()) for each in handled] == [({"n": 1}, b"payload")]


def test_a_message_that_is_not_due_yet_is_sent_again_with_a_delay() -> None:
    handled: list[Received] = []
    payload = NOISE[: settings().queue_inline_bytes + 1]
    queues.send("events", [Work({"not_before": 2000.0, "n": 1}, payload)])
    with clock.use(lambda: 1000.0), aws_requests() as requests:
        assert consume(queued("events"), handled.append) == []
    delays = [
        each.parameters["DelaySeconds"] for each in requests if "MessageBody" in each.parameters
    ]
    assert (delays, handled) == ([900], [])


def test_a_message_that_is_sent_again_is_unchanged_and_is_handled_at_its_time() -> None:
    handled: list[Received] = []
    body = body_of({"not_before": 1000.0, "n": 1}, b"payload")
    with clock.use(lambda: 999.5), aws_requests() as requests:
        assert consume([body], handled.append) == []
    (again,) = [each for each in requests if each.operation == "SendMessage"]
    assert again.parameters["DelaySeconds"] == 1
    with clock.use(lambda: 1000.0):
        assert consume([again.parameters["MessageBody"]], handled.append) == []
    (message,) = handled
    assert (message.head, message.payload()) == ({"not_before": 1000.0, "n": 1}, b"payload")


def test_a_missing_object_of_the_bucket_fails_its_message() -> None:
    assert consume([body_of({})], lambda _: blobs.get("transmissions/1")) == ["m-0"]
    assert consume_together([body_of({})], lambda _: blobs.get("transmissions/1")) == ["m-0"]


def test_messages_that_are_handled_together_cost_one_call() -> None:
    calls: list[list[int]] = []
    bodies = [body_of({"n": n}) for n in range(3)]
    assert consume_together(bodies, lambda ms: calls.append([m.head["n"] for m in ms])) == []
    assert calls == [[0, 1, 2]]


def test_a_malformed_message_fails_alone_when_messages_are_handled_together() -> None:
    done: set[int] = set()

    def handle(messages: list[Received]) -> None:
        for message in messages:
            fail_on(1)(message)
        done.update(message.head["n"] for message in messages)

    bodies = [body_of({"n": 0}), "nonsense", body_of({"n": 1}), body_of({"n": 2})]
    assert consume_together(bodies, handle) == ["m-1", "m-2"]
    assert done == {0, 2}


def test_nothing_is_handled_when_no_message_can_be_read() -> None:
    calls: list[Any] = []
    assert consume_together(["nonsense"], calls.append) == ["m-0"]
    assert calls == []
