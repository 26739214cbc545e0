"""Check that the current template updates an earlier deployment without losing its data.

CloudFormation replaces a table whose name or keys change: it creates a new table, and the data stay
in the old one. ``test_deployment`` updates such a stack in a cloud.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from chalicelib.core.json_types import Json
from infrastructure.deployment.merge_template import TEMPLATES, read

EARLIER = Path(__file__).with_name("earlier_template.yaml")
NAMES = {
    "AWS::DynamoDB::Table": "TableName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::S3::Bucket": "BucketName",
}


earlier: Json = read(EARLIER)["Resources"]
now: Json = read(TEMPLATES / "template.yaml")["Resources"]


def indexes(resource: Json) -> dict[str, Json]:
    index_properties = resource["Properties"].get("GlobalSecondaryIndexes", [])
    return {index["IndexName"]: index for index in index_properties}


def key_types(resource: Json, schema: list[Json]) -> list[tuple[str, str, str]]:
    attributes = resource["Properties"]["AttributeDefinitions"]
    types = {each["AttributeName"]: each["AttributeType"] for each in attributes}
    return [(k["KeyType"], k["AttributeName"], types[k["AttributeName"]]) for k in schema]


def keys(resource: Json) -> dict[str, list[tuple[str, str, str]]]:
    """Return the typed keys of the indexes by name, and those of the table under ``""``."""
    schemas = {name: index["KeySchema"] for name, index in indexes(resource).items()}
    schemas[""] = resource["Properties"]["KeySchema"]
    return {name: key_types(resource, schema) for name, schema in schemas.items()}


@pytest.mark.parametrize("logical_id", earlier)
def test_no_table_queue_or_bucket_is_replaced(logical_id: str) -> None:
    before, after = earlier[logical_id], now[logical_id]
    assert after["Type"] == before["Type"]
    name = NAMES[before["Type"]]
    assert after["Properties"][name] == before["Properties"][name]
    assert after["UpdateReplacePolicy"] == "Retain"
    if before["Type"] == "AWS::DynamoDB::Table":
        for index in keys(before).keys() & keys(after).keys():
            assert keys(after)[index] == keys(before)[index]


@pytest.mark.parametrize("logical_id", earlier)
def test_a_table_gains_or_loses_one_index_at_a_time(logical_id: str) -> None:
    """DynamoDB refuses to create or delete two indexes in one update."""
    changed_indexes = indexes(earlier[logical_id]).keys() ^ indexes(now[logical_id]).keys()
    assert len(changed_indexes) <= 1


def test_the_sealing_key_and_the_secret_are_kept() -> None:
    """CloudFormation creates them again under another name: sealed and signed data are lost.

    It also generates another secret when the properties of the generator change.
    """
    resources = read(TEMPLATES / "deployment.yaml")["Resources"]
    kinds = {name: resources[name]["Type"] for name in ("SealingKey", "SecretKey")}
    assert kinds == {"SealingKey": "AWS::KMS::Key", "SecretKey": "AWS::SecretsManager::Secret"}
    assert {resources[name]["UpdateReplacePolicy"] for name in kinds} == {"Retain"}
    secret = resources["SecretKey"]["Properties"]
    assert set(secret) == {"Description", "GenerateSecretString"}
    assert secret["GenerateSecretString"] == {
        "PasswordLength": 43,
        "ExcludeCharacters": "!\"#$%&'()*,-.:;<=>?@[\\]^_`{|}~",
        "RequireEachIncludedType": False,
    }
