"""Call the application through API Gateway, packaged and deployed by CloudFormation.

The cloud enforces the functions' policies, so the tests also show that the permissions suffice. The
tests build on one another: later ones read what earlier ones stored or logged.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
from datetime import UTC, datetime, timedelta
from email import message_from_bytes

import pytest

from chalicelib.core import clock
from infrastructure.deployment.functions import FunctionKind, functions
from infrastructure.deployment.stack import Stack
from tests.deployment.deployed import STAGE, Deployment, eventually
from tests.deployment.test_upgrade import EARLIER
from tests.http_response import Response


def test_a_message_runs_through_the_functions_and_its_delivery_is_read_back(
    deployed: Deployment,
) -> None:
    deployed.send("ann@inbox.test", "bob@inbox.test")
    eventually(lambda: deployed.events("ann@inbox.test") == ["injection", "delivery"], 60)
    eventually(lambda: deployed.events("bob@inbox.test") == ["injection", "delivery"], 60)
    (message,) = (message_from_bytes(m) for m in deployed.sink.messages_to("ann@inbox.test"))
    assert message["Subject"] == "Hello"
    assert "d=example.test" in message["DKIM-Signature"]


def test_the_console_is_below_the_stage(deployed: Deployment) -> None:
    def get(path: str) -> Response:
        return deployed.request("GET", path, headers={"Accept-Encoding": "gzip"})

    page = get("/console/")
    assert page.status == 200
    # The emulator knows no binary media types, and leaves the body in base64.
    assert b'src="app.js"' in gzip.decompress(base64.b64decode(page.body))
    assert get("/console").body == page.body  # led there
    assert get("/console/vendor/preact.js").status == 200
    assert get("/console/service.json").json["stage"] == STAGE


def test_a_message_too_large_for_a_queue_goes_through_the_bucket(deployed: Deployment) -> None:
    noise = base64.b64encode(random.Random(1).randbytes(400_000)).decode()
    attachment = {"name": "noise.bin", "type": "application/octet-stream", "data": noise}
    deployed.send(
        "large@inbox.test",
        "large2@inbox.test",
        content={
            "from": "a@example.test",
            "subject": "Large",
            "text": "See the attachment",
            "attachments": [attachment],
        },
    )
    eventually(lambda: deployed.sink.messages_to("large@inbox.test"), 60)
    assert deployed.last is not None
    bucket = deployed.last.outputs["BucketName"]
    objects = deployed.cloud.client("s3").list_objects_v2(Bucket=bucket)
    assert any(each["Key"].startswith("queue/") for each in objects["Contents"])


def test_a_bulk_request_is_cut_into_chunks_that_all_arrive(deployed: Deployment) -> None:
    recipients = [f"bulk{i}@inbox.test" for i in range(250)]
    deployed.send(*recipients)
    assert eventually(lambda: all(map(deployed.sink.messages_to, recipients)), 60)


@pytest.mark.spec("1-r7")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nothing/here", 404),
        ("GET", "/", 404),
        ("PATCH", "/api/v1/account", 405),
        ("GET", "/api/v1/account", 401),
    ],
)
def test_refusals_have_the_shape_of_the_api(
    deployed: Deployment, method: str, path: str, status: int
) -> None:
    response = deployed.request(method, path, headers={"Authorization": ""})
    assert response.status == status
    assert response.json["errors"][0]["message"]
    if status == 405:
        assert response.headers["allow"] == "GET, HEAD, PUT"


@pytest.mark.spec("1-r1")
def test_a_path_is_decoded_once_and_a_trailing_slash_is_ignored(deployed: Deployment) -> None:
    path = "/api/v1/suppression-list/odd%2Btag%40inbox.test"
    assert deployed.request("PUT", path, {"type": "transactional"}).status == 200
    results = deployed.request("GET", path + "/").json["results"]
    assert [each["recipient"] for each in results] == ["odd+tag@inbox.test"]


def test_the_openapi_description_is_served(deployed: Deployment) -> None:
    response = deployed.request("GET", "/openapi.json", headers={"Authorization": ""})
    assert (response.status, response.json["openapi"]) == (200, "3.1.0")


def test_scheduled_functions_have_the_permissions_that_they_need(deployed: Deployment) -> None:
    schedules = [each.logical_id for each in functions() if each.kind is FunctionKind.SCHEDULE]
    responses = {name: deployed.invoke(name) for name in schedules}
    assert responses == {name: {"error": None, "payload": b"null"} for name in schedules}


def test_a_message_that_no_function_can_handle_ends_in_the_dead_letter_queue(
    deployed: Deployment,
) -> None:
    deployed.cloud.client("sqs").send_message(
        QueueUrl=deployed.queue_url("events"), MessageBody="not a message of ours"
    )
    eventually(lambda: deployed.visible_messages("events-dead") == 1, 60)
    assert deployed.visible_messages("events") == 0


def test_a_schedule_fires_and_starts_what_is_due(deployed: Deployment) -> None:
    start = datetime.fromtimestamp(clock.now(), UTC) + timedelta(seconds=2)
    deployed.send("later@inbox.test", options={"start_time": start.isoformat(timespec="seconds")})
    assert len(eventually(lambda: deployed.sink.messages_to("later@inbox.test"), 120)) == 1
    deployed.keep_schedules()


def test_no_function_was_refused_a_permission(deployed: Deployment) -> None:
    assert [line for line in deployed.log_lines() if "AccessDenied" in line] == []


def test_log_lines_of_functions_name_account_request_queue_and_transmission(
    deployed: Deployment,
) -> None:
    lines = [json.loads(line) for line in deployed.log_lines() if line.startswith("{")]
    response_lines = [line for line in lines if line["message"] == "answered"]
    transmission_lines = [
        line for line in response_lines if line.get("route") == "/api/v1/transmissions"
    ]
    assert transmission_lines[0]["account_id"] == 1
    assert transmission_lines[0]["request_id"]
    batch_lines = [line for line in lines if line["message"] == "handled a batch"]
    assert {line["queue"] for line in batch_lines} >= {
        f"postfinch-{STAGE}-{queue}" for queue in ("generation", "delivery", "events")
    }
    assert any(line.get("transmission_id") for line in batch_lines)


def test_a_second_deployment_updates_in_place_and_keeps_its_parameters(
    deployed: Deployment,
) -> None:
    before = deployed.cloud.client("cloudformation").describe_stack_resources(
        StackName=f"postfinch-{STAGE}"
    )["StackResources"]
    login = {"SmarthostUsername": "sender", "SmarthostPassword": "not shown again"}
    deployed.deploy(LogLevel="WARNING", **login)
    again = deployed.deploy()
    assert again.api_key is None
    after = deployed.cloud.client("cloudformation").describe_stack_resources(
        StackName=f"postfinch-{STAGE}"
    )["StackResources"]
    names = ("LogicalResourceId", "PhysicalResourceId")
    assert [[each[name] for name in names] for each in after] == [
        [each[name] for name in names] for each in before
    ]
    (variables,) = (
        each["Environment"]["Variables"]
        for each in deployed.cloud.client("lambda").list_functions()["Functions"]
        if "-Delivery-" in each["FunctionName"]
    )
    assert variables["LOG_LEVEL"] == "WARNING"
    assert variables["SMARTHOST"] == f"127.0.0.1:{deployed.sink.port}"
    assert variables["SMARTHOST_PASSWORD"] == "not shown again"
    assert deployed.events("ann@inbox.test") == ["injection", "delivery"]
    deployed.deploy(**dict.fromkeys(login, ""))


def test_missing_settings_of_a_stage_are_reported_only_on_aws(deployed: Deployment) -> None:
    (warning,) = deployed.deploy(as_on_aws=True).warnings
    assert "SYSTEM_DOMAIN=" in warning
    assert list(deployed.deploy().warnings) == []


def test_an_earlier_deployment_is_updated_in_place(deployed: Deployment) -> None:
    cloud = deployed.cloud
    stack = Stack(cloud.client("cloudformation"), "postfinch-green")
    stack.apply({"TemplateBody": EARLIER.read_text()}, {"Stage": "green"})
    tables, item = cloud.client("dynamodb"), {"pk": {"S": "kept"}, "sk": {"S": "-"}}
    tables.put_item(TableName="postfinch-green-config", Item=item)
    table_id = tables.describe_table(TableName="postfinch-green-config")["Table"]["TableId"]
    green = Deployment(cloud, deployed.package, deployed.sink, "green")
    assert green.deploy().api_key
    green.keep_schedules()
    assert tables.describe_table(TableName="postfinch-green-config")["Table"]["TableId"] == table_id
    assert tables.get_item(TableName="postfinch-green-config", Key=item)["Item"] == item
