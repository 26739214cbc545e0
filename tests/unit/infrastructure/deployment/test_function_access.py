"""What functions use is stated for each, and names what the template has.

`tests.unit.infrastructure.test_observed_calls` compares it with what they do.
"""

from __future__ import annotations

import pytest

from infrastructure.deployment.function_access import DELIVERY_CONTAINER, FUNCTIONS, RELAY, Access
from infrastructure.deployment.functions import functions
from infrastructure.deployment.merge_template import TEMPLATES, read

ALL = {**FUNCTIONS, "relay": RELAY, "delivery container": DELIVERY_CONTAINER}


def names(kind: str, name: str) -> set[str]:
    """Return the short names of all resources of a kind in the template."""
    return {
        each["Properties"][name]["Fn::Sub"].removeprefix("postfinch-${Stage}-")
        for each in read(TEMPLATES / "template.yaml")["Resources"].values()
        if each["Type"] == kind
    }


def test_every_function_is_stated() -> None:
    assert set(FUNCTIONS) == {function.name for function in functions()}


@pytest.mark.parametrize("access", ALL.values(), ids=ALL)
def test_tables_and_queues_exist(access: Access) -> None:
    assert access.tables <= names("AWS::DynamoDB::Table", "TableName")
    created_later = {"container-*"}  # `postfinch admin add-sending-ip` creates these
    assert access.queues - created_later <= names("AWS::SQS::Queue", "QueueName")


@pytest.mark.parametrize("access", ALL.values(), ids=ALL)
def test_who_sends_to_a_queue_may_store_a_large_payload(access: Access) -> None:
    assert not access.queues or "s3:PutObject" in access.actions
