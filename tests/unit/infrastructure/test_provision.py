from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from chalicelib.core import aws
from chalicelib.core.settings import settings
from infrastructure.provision import ProvisionFailed, provision
from tests.unit.infrastructure.clouds import LocalCloud

STAGE = "test"


@pytest.fixture(autouse=True)
def clients(local_cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Point the clients of this process to the local cloud, and sign with the secret it knows."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", local_cloud.url)
    aws.clear_cache()
    yield
    aws.clear_cache()


def test_provisioning_creates_the_tables_queues_and_bucket_that_the_settings_name(
    local_cloud: LocalCloud,
) -> None:
    provision(STAGE)
    tables = {"audit", "config", "suppression", "transmissions", "messages"}
    tables |= {"events", "metrics", "webhooks"}
    queues = ("generation", "small-sends", "delivery", "events", "ingest")
    queues += (
        "small-deliveries",
        "held-deliveries",
        "webhook-events",
        "webhook-batches",
        "event-exports",
        "ses-notifications",
        "inbound-mail",
    )
    names = local_cloud.client("dynamodb").list_tables()["TableNames"]
    assert names == sorted(settings().table(name) for name in tables)
    urls = local_cloud.client("sqs").list_queues()["QueueUrls"]
    expected = {settings().queue(f"{name}{kind}") for name in queues for kind in ("", "-dead")}
    assert {url.rpartition("/")[2] for url in urls} == expected
    buckets = local_cloud.client("s3").list_buckets()["Buckets"]
    assert [bucket["Name"] for bucket in buckets] == [settings().bucket_name]


def test_provisioned_tables_expire_items_and_can_be_restored_in_time(
    local_cloud: LocalCloud,
) -> None:
    provision(STAGE)
    client = local_cloud.client("dynamodb")
    for name in client.list_tables()["TableNames"]:
        expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert expiry == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
        backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


def test_provisioning_twice_changes_and_loses_nothing(local_cloud: LocalCloud) -> None:
    provision(STAGE)
    client = local_cloud.client("dynamodb")
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    client.put_item(TableName=settings().table("config"), Item=item)
    provision(STAGE)
    assert client.get_item(TableName=settings().table("config"), Key=item)["Item"] == item


def test_a_changed_parameter_updates_a_queue_and_keeps_its_messages(
    local_cloud: LocalCloud,
) -> None:
    provision(STAGE)
    client = local_cloud.client("sqs")
    url = client.get_queue_url(QueueName=settings().queue("delivery"))["QueueUrl"]
    before = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert before["VisibilityTimeout"] == "900"
    assert json.loads(before["RedrivePolicy"])["deadLetterTargetArn"].endswith("-delivery-dead")
    client.send_message(QueueUrl=url, MessageBody="kept")
    provision(STAGE, {"DeliveryVisibility": "60"})
    after = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert (after["VisibilityTimeout"], after["ApproximateNumberOfMessages"]) == ("60", "1")


def test_a_bucket_can_be_given_another_name(local_cloud: LocalCloud) -> None:
    provision(STAGE, {"BucketName": "mail-of-ours"})
    buckets = local_cloud.client("s3").list_buckets()["Buckets"]
    assert [bucket["Name"] for bucket in buckets] == ["mail-of-ours"]


def test_a_failure_names_the_first_resource_and_its_reason_and_can_be_retried(
    local_cloud: LocalCloud,
) -> None:
    buckets = local_cloud.client("s3")
    buckets.create_bucket(Bucket=settings().bucket_name)
    with pytest.raises(
        ProvisionFailed, match=r"ROLLBACK_COMPLETE: /Resources/Bucket: .*already exists"
    ):
        provision(STAGE)
    assert local_cloud.client("dynamodb").list_tables()["TableNames"] == []
    buckets.delete_bucket(Bucket=settings().bucket_name)
    provision(STAGE)
    assert len(local_cloud.client("dynamodb").list_tables()["TableNames"]) == 8


def test_provisioning_refuses_a_stack_with_functions(local_cloud: LocalCloud) -> None:
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"RestAPIId": {"Value": "x"}},
    }
    local_cloud.client("cloudformation").create_stack(
        StackName=f"postfinch-{STAGE}", TemplateBody=json.dumps(template)
    )
    with pytest.raises(ProvisionFailed, match="make deploy"):
        provision(STAGE)
