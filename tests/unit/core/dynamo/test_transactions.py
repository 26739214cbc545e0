from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.core import aws
from chalicelib.core.dynamo import Table, TransactionFailed, Write, delete, put, transact, update
from tests.unit.core.dynamo.pauses import are_about

config = Table("config")
messages = Table("messages")


@pytest.fixture
def item(cloud: None) -> dict[str, Any]:
    item = {"pk": "a", "sk": "b", "n": 1}
    config.put(item)
    return item


def _serve(monkeypatch: pytest.MonkeyPatch, client: Any) -> None:
    monkeypatch.setattr(aws, "dynamodb", lambda: client)


def test_a_transaction_applies_all_its_actions(item: dict[str, Any]) -> None:
    config.put({"pk": "a", "sk": "old"})
    transact(
        [
            put(messages, {"pk": "m", "sk": "1"}, condition="attribute_not_exists(#pk)"),
            update(config, "a", "b", "SET #n = :n", values={"n": 2, "o": 1}, condition="#n = :o"),
            delete(config, "a", "old", condition="attribute_exists(#pk)"),
        ]
    )
    assert messages.get("m", "1") == {"pk": "m", "sk": "1"}
    assert config.get("a", "b") == item | {"n": 2}
    assert config.get("a", "old") is None


def test_a_transaction_with_a_failed_condition_applies_nothing(item: dict[str, Any]) -> None:
    with pytest.raises(TransactionFailed) as failure:
        transact(
            [
                put(messages, {"pk": "m", "sk": "1"}),
                update(config, "a", "b", "SET #n = :n", values={"n": 2}, condition="#n = :n"),
            ]
        )
    assert failure.value.failed == [1]
    assert messages.get("m", "1") is None
    assert config.get("a", "b") == item


class Cancelling:
    """A client whose transactions are cancelled for ``reasons``, one after the other."""

    def __init__(self, *reasons: str) -> None:
        self._reasons = list(reasons)
        self.tokens: list[str | None] = []

    def transact_write_items(self, **arguments: Any) -> None:
        self.tokens.append(arguments.get("ClientRequestToken"))
        if not self._reasons:
            return
        reason = self._reasons.pop(0)
        raise ClientError(
            {
                "Error": {"Code": "TransactionCanceledException", "Message": reason},
                "CancellationReasons": [{"Code": "None"}, {"Code": reason}],
            },
            "TransactWriteItems",
        )


WRITES = [Write("Put", {}), Write("Put", {})]


@pytest.mark.parametrize(
    "reason", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]
)
def test_a_transaction_cancelled_by_a_conflict_or_throttling_is_retried(
    reason: str, monkeypatch: pytest.MonkeyPatch, no_pauses: list[float]
) -> None:
    client = Cancelling(reason, reason)
    _serve(monkeypatch, client)
    transact(WRITES, token="t")
    assert client.tokens == ["t", "t", "t"]
    assert are_about(no_pauses, [0.025, 0.05])


def test_a_transaction_that_always_conflicts_is_an_error_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _serve(monkeypatch, Cancelling(*["TransactionConflict"] * 100))
    with pytest.raises(RuntimeError, match="too long"):
        transact(WRITES)


def test_an_invalid_transaction_is_not_a_failed_condition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _serve(monkeypatch, Cancelling("ValidationError"))
    with pytest.raises(ClientError, match="ValidationError"):
        transact(WRITES)
