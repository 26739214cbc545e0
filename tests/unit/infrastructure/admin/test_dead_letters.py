"""Test the commands of the operator's tool for dead letters, and the lines that tell of them."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import aws
from chalicelib.core.settings import settings
from infrastructure import bootstrap
from infrastructure.admin import cli

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        status = cli.main(arguments)
        output = capsys.readouterr()
        return status, (output.err if status else output.out).strip()

    return command


def url(queue: str) -> str:
    return aws.sqs().get_queue_url(QueueName=settings().queue(queue))["QueueUrl"]


def put(queue: str, *bodies: str) -> None:
    for body in bodies:
        attributes: Any = {"kind": {"DataType": "String", "StringValue": body}}
        aws.sqs().send_message(QueueUrl=url(queue), MessageBody=body, MessageAttributes=attributes)


def test_dead_letters_are_listed_by_queue(run: Any) -> None:
    assert run("list-dead-letters") == (0, "")
    put("delivery-dead", "a", "b")
    put("generation-dead", "c")
    assert sorted(run("list-dead-letters")[1].splitlines()) == ["delivery\t2", "generation\t1"]


def test_dead_letters_go_back_to_their_queue_as_they_were(run: Any) -> None:
    bodies = [f"{number}" for number in range(12)]
    put("delivery-dead", *bodies)
    put("generation-dead", "another")
    assert run("redrive-dead-letters", "delivery") == (0, "delivery\t12")
    assert run("list-dead-letters") == (0, "generation\t1")
    messages: list[Any] = []
    while len(messages) < len(bodies):
        response = aws.sqs().receive_message(
            QueueUrl=url("delivery"), MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        )
        messages += response["Messages"]
    assert sorted(each["Body"] for each in messages) == sorted(bodies)
    assert all(
        each["MessageAttributes"]["kind"]["StringValue"] == each["Body"] for each in messages
    )


def test_dead_letters_of_all_queues_go_back_without_a_name(run: Any) -> None:
    put("delivery-dead", "a")
    put("events-dead", "b", "c")
    assert sorted(run("redrive-dead-letters")[1].splitlines()) == ["delivery\t1", "events\t2"]
    assert run("list-dead-letters") == (0, "")


def test_a_queue_without_dead_letters_is_refused_with_those_that_have_some(run: Any) -> None:
    put("events-dead", "a")
    assert run("redrive-dead-letters", "delivery") == (1, "delivery has no dead letters: events")
    assert run("redrive-dead-letters", "deliveries")[0] == 1


def test_a_start_tells_of_dead_letters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "key")
    bootstrap.main()
    assert capsys.readouterr().err == ""
    put("delivery-dead", "a", "b")
    bootstrap.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("2 messages of the queue delivery failed too often")
