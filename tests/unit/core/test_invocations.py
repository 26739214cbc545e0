from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core import aws, invocations
from chalicelib.core.settings import settings
from tests.fake_cloud import aws_requests, declared

QUEUE = "arn:aws:sqs:us-east-1:123456789012:"


def record(name: str, *, tries: int = 1, body: str = "{}", handle: str = "h") -> dict[str, Any]:
    return {
        "messageId": name,
        "receiptHandle": handle,
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(tries)},
        "eventSourceARN": QUEUE + settings().queue("events"),
    }


def event(*records: dict[str, Any]) -> Any:
    return SimpleNamespace(to_dict=lambda: {"Records": list(records)}, context=None)


def failing(*names: str) -> Any:
    response = {"batchItemFailures": [{"itemIdentifier": name} for name in names]}
    return lambda event: response


def test_the_response_of_the_handler_is_returned() -> None:
    assert invocations.of_queue(event(record("a")), failing()) == {"batchItemFailures": []}
    assert invocations.of_schedule(SimpleNamespace(context=None), lambda event: "done") == "done"


@pytest.mark.cost
def test_a_batch_without_failures_costs_no_request(cloud: None) -> None:
    with aws_requests() as requests:
        invocations.of_queue(event(record("a")), failing())
    assert requests == []


@pytest.mark.parametrize(("tries", "delay"), [(1, 30), (2, 120), (3, 480), (4, 1920)])
def test_the_delay_grows_with_each_failure(tries: int, delay: int) -> None:
    assert invocations.redelivery_delay(record("a", tries=tries)) == delay


def test_no_delay_is_longer_than_sqs_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDELIVERY_BASE", "20000")
    settings.cache_clear()
    assert invocations.redelivery_delay(record("a", tries=4)) == 43_200
    settings.cache_clear()


def test_a_message_that_failed_five_times_goes_to_the_dead_letters_at_once() -> None:
    queues = [each for each in declared("AWS::SQS::Queue") if "RedrivePolicy" in each]
    assert {each["RedrivePolicy"]["maxReceiveCount"] for each in queues} == {invocations.TRIES}
    assert invocations.redelivery_delay(record("a", tries=invocations.TRIES)) == 0


def test_a_failed_message_is_redelivered_before_its_timeout(
    cloud: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDELIVERY_BASE", "0")
    settings.cache_clear()
    invocations._url.cache_clear()
    sqs: Any = aws.sqs()
    url = sqs.get_queue_url(QueueName=settings().queue("events"))["QueueUrl"]
    for body in ("good", "bad"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=900)
    records = [record(each["Body"], handle=each["ReceiptHandle"]) for each in messages["Messages"]]
    invocations.of_queue(event(*records), failing("bad"))
    visible = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [each["Body"] for each in visible] == ["bad"]


def test_a_failed_message_waits_for_its_timeout_if_the_queue_does_not_answer(
    cloud: None, caplog: pytest.LogCaptureFixture
) -> None:
    stray = record("a") | {"eventSourceARN": QUEUE + "no-such-queue"}
    with caplog.at_level(logging.WARNING):
        assert invocations.of_queue(event(stray), failing("a"))["batchItemFailures"]
    assert "at the end of their time-out" in caplog.text


def test_the_log_line_of_a_batch_names_the_transmission_of_all_its_messages() -> None:
    one = [record("a", body='{"head":{"transmission":"7"}}')] * 2
    two = [*one, record("b", body='{"head":{"transmission":"8"}}')]
    assert invocations._transmission(one) == "7"
    assert invocations._transmission(two) is None
    assert invocations._transmission([record("a", body='{"head":{}}')]) is None


def test_the_log_line_of_a_batch_counts_its_messages_and_failures(
    caplog: pytest.LogCaptureFixture, cloud: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_FORMAT", "json")
    settings.cache_clear()
    with caplog.at_level(logging.INFO):
        invocations.of_queue(event(record("a"), record("b")), failing("a"))
    (line,) = [vars(each) for each in caplog.records if hasattr(each, "_aws")]
    assert (line["Messages"], line["FailedMessages"]) == (2, 1)
    assert line["Queue"] == settings().queue("events")
