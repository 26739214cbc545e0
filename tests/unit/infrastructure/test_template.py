from __future__ import annotations

from dataclasses import fields
from typing import Any

import yaml

from chalicelib.core.settings import Settings
from chalicelib.transmissions.store.transmissions import Summary
from infrastructure.provision import TEMPLATE, read_template

RESOURCES: dict[str, Any] = read_template()["Resources"]
DATA = {"AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::S3::Bucket"}
TWO_WEEKS = 14 * 86_400


def of_type(kind: str) -> dict[str, Any]:
    return {n: item["Properties"] for n, item in RESOURCES.items() if item["Type"] == kind}


def test_every_resource_outlives_its_stack() -> None:
    assert {item["Type"] for item in RESOURCES.values()} == DATA
    for item in RESOURCES.values():
        assert item["DeletionPolicy"] == "RetainExceptOnCreate"
        assert item["UpdateReplacePolicy"] == "Retain"


def test_every_table_is_paid_per_request_expires_items_and_can_be_restored() -> None:
    tables = of_type("AWS::DynamoDB::Table")
    assert len(tables) == 8
    for table in tables.values():
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_every_key_of_a_table_and_its_indexes_is_declared_and_no_other_attribute() -> None:
    for name, table in of_type("AWS::DynamoDB::Table").items():
        schemas = [table["KeySchema"]]
        schemas += [index["KeySchema"] for index in table.get("GlobalSecondaryIndexes", [])]
        keys = {key["AttributeName"] for schema in schemas for key in schema}
        assert keys == {each["AttributeName"] for each in table["AttributeDefinitions"]}, name


def test_the_transmissions_index_holds_exactly_the_fields_of_a_summary() -> None:
    (index,) = of_type("AWS::DynamoDB::Table")["TransmissionsTable"]["GlobalSecondaryIndexes"]
    assert index["IndexName"] == "by_owner"
    assert index["Projection"]["ProjectionType"] == "INCLUDE"
    attributes = set(index["Projection"]["NonKeyAttributes"]) | {"id"}
    assert attributes == {field.name for field in fields(Summary)}


def test_every_queue_that_is_consumed_has_a_dead_letter_queue_that_keeps_two_weeks() -> None:
    queues = of_type("AWS::SQS::Queue")
    consumed = {name: queue for name, queue in queues.items() if "RedrivePolicy" in queue}
    assert {name for name in queues if not name.endswith("DeadQueue")} == set(consumed)
    assert len(consumed) == 12
    for queue in consumed.values():
        assert queue["RedrivePolicy"]["maxReceiveCount"] == 5
        target = queue["RedrivePolicy"]["deadLetterTargetArn"]["Sub"].removeprefix("${")
        dead = queues[target.removesuffix(".Arn}")]
        assert dead["QueueName"]["Sub"] == queue["QueueName"]["Sub"] + "-dead"
        assert dead["MessageRetentionPeriod"] == TWO_WEEKS


def test_an_object_named_by_a_queue_message_outlives_the_message() -> None:
    (bucket,) = of_type("AWS::S3::Bucket").values()
    rules = {rule["Prefix"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
    retention = max(
        queue["MessageRetentionPeriod"] for queue in of_type("AWS::SQS::Queue").values()
    )
    assert rules["queue/"]["ExpirationInDays"] * 86_400 > retention
    assert rules["transmissions/"]["ExpirationInDays"] == 90


def test_a_webhook_batch_is_kept_in_the_bucket_until_it_can_no_longer_be_redelivered() -> None:
    (bucket,) = of_type("AWS::S3::Bucket").values()
    (rule,) = (
        rule for rule in bucket["LifecycleConfiguration"]["Rules"] if rule["Prefix"] == "webhooks/"
    )
    defaults = Settings()
    longest = defaults.webhook_retry_expiry + defaults.webhook_batch_retention
    assert rule["ExpirationInDays"] * 86_400 > longest


def test_the_bucket_is_closed_to_the_public() -> None:
    (bucket,) = of_type("AWS::S3::Bucket").values()
    assert all(bucket["PublicAccessBlockConfiguration"].values())


def test_the_template_can_be_merged_into_the_template_of_the_functions() -> None:
    template = read_template()
    assert "Outputs" not in template
    assert "Transform" not in template
    assert "GetAtt" not in TEMPLATE.read_text()
    assert yaml.safe_dump(template)
