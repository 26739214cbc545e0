from __future__ import annotations

import io
import json
import shutil
import signal
import zipfile
from pathlib import Path

import pytest

from tests.unit.infrastructure.clouds import LocalCloud, eventually

NAME = "answering"
ROLE = "arn:aws:iam::000000000000:role/none"
BUCKET = "archives"
TEMPLATE = {
    "Resources": {
        "Answering": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "FunctionName": NAME,
                "Runtime": "python3.11",
                "Handler": "code.answer",
                "Role": ROLE,
                "Code": {"S3Bucket": BUCKET, "S3Key": "first.zip"},
            },
        }
    }
}


def archive(answer: str) -> bytes:
    """Return an archive with the same bytes for the same code: its file has a fixed time."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        entry = zipfile.ZipInfo("code.py")
        file.writestr(entry, f"def answer(event, context):\n    return {answer!r}\n")
    return data.getvalue()


def create(cloud: LocalCloud, name: str, answer: str) -> None:
    cloud.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.11",
        Handler="code.answer",
        Role=ROLE,
        Code={"ZipFile": archive(answer)},
    )


def deploy(cloud: LocalCloud, answer: str) -> None:
    s3, client = cloud.client("s3"), cloud.client("cloudformation")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="first.zip", Body=archive(answer))
    client.create_stack(StackName="stack", TemplateBody=json.dumps(TEMPLATE))
    eventually(
        lambda: (
            client.describe_stacks(StackName="stack")["Stacks"][0]["StackStatus"]
            == "CREATE_COMPLETE"
        )
    )


def invoke(cloud: LocalCloud, name: str = NAME) -> object:
    return json.loads(cloud.client("lambda").invoke(FunctionName=name)["Payload"].read())


def archives(cloud: LocalCloud) -> list[Path]:
    return sorted((cloud.data / "archives").iterdir())


def restart(cloud: LocalCloud, number: signal.Signals) -> None:
    cloud.stop(number)
    cloud.start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_function_answers_after_every_restart(
    local_cloud: LocalCloud, number: signal.Signals
) -> None:
    create(local_cloud, NAME, "it works")
    for _ in range(2):
        restart(local_cloud, number)
        assert invoke(local_cloud) == "it works"
    create(local_cloud, "another", "this too")
    restart(local_cloud, number)
    assert (invoke(local_cloud), invoke(local_cloud, "another")) == ("it works", "this too")


def test_an_archive_is_stored_once_and_until_a_start_without_a_function_that_runs_it(
    local_cloud: LocalCloud,
) -> None:
    create(local_cloud, NAME, "old")
    create(local_cloud, "another", "old")
    (before,) = archives(local_cloud)
    for name in (NAME, "another"):
        local_cloud.client("lambda").update_function_code(FunctionName=name, ZipFile=archive("new"))
    assert before in archives(local_cloud)
    restart(local_cloud, signal.SIGKILL)
    (after,) = archives(local_cloud)
    assert after.name != before.name
    assert invoke(local_cloud) == "new"


def test_lost_code_is_fetched_again_from_where_it_was_deployed(local_cloud: LocalCloud) -> None:
    deploy(local_cloud, "it works")
    local_cloud.stop()
    shutil.rmtree(local_cloud.data / "archives")
    for _ in range(2):
        local_cloud.start()
        assert invoke(local_cloud) == "it works"
        local_cloud.stop()


def test_changed_code_is_not_used_in_place_of_the_lost_code(local_cloud: LocalCloud) -> None:
    deploy(local_cloud, "it works")
    local_cloud.client("s3").put_object(Bucket=BUCKET, Key="first.zip", Body=archive("changed"))
    local_cloud.stop()
    shutil.rmtree(local_cloud.data / "archives")
    local_cloud.start()
    assert invoke(local_cloud) != "changed"


def test_processes_of_functions_share_the_files_of_their_archive(local_cloud: LocalCloud) -> None:
    for name in ("one", "two", "three"):
        create(local_cloud, name, "it works")
        assert invoke(local_cloud, name) == "it works"
    places = {path.stat().st_ino for path in (local_cloud.data / "tmp").rglob("code.py")}
    assert len(places) == 1
    local_cloud.client("lambda").update_function_code(FunctionName="one", ZipFile=archive("new"))
    assert (invoke(local_cloud, "one"), invoke(local_cloud, "two")) == ("new", "it works")
    assert len(list((local_cloud.data / "tmp").glob("code-*"))) == 1
    local_cloud.stop()
    assert not (local_cloud.data / "tmp").exists()
