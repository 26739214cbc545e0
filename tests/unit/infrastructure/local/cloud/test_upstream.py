"""Check that MiniStack still needs each patch of the modules in `infrastructure.local.cloud`.

A test that fails here after an upgrade of MiniStack shows that its patch may be removed, because
MiniStack now does itself what the patch does; or that MiniStack no longer has what the modules use.
"""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.model import ServiceModel
from ministack.core import responses
from ministack.services import dynamodb, lambda_svc, s3, sqs

from infrastructure.local import cloud as local_cloud
from infrastructure.local.cloud.server import ministack_environment
from infrastructure.local.supervisor.probes import answers_http
from tests.free_ports import free_port
from tests.unit.infrastructure.clouds import LocalCloud, eventually

QUEUE = "upstream"
CLOUDFORMATION = "ministack.services.cloudformation"
CLOUD = Path(local_cloud.__file__).parent


def used_names() -> set[tuple[str, str]]:
    """Return modules of MiniStack, each with a name in it that the modules here use or patch."""
    names = set()
    for path in CLOUD.glob("*.py"):
        tree = ast.parse(path.read_text())
        modules = dict(imported_modules(tree))
        names |= {
            (modules[node.value.id], node.attr)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
        }
    return names


def imported_modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name and the path of each module of MiniStack that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ministack"):
            for alias in node.names:
                if is_module(f"{node.module}.{alias.name}"):
                    yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        # This one is used if something else has imported it
        if isinstance(node, ast.Assign) and CLOUDFORMATION in ast.unparse(node):
            yield "cloudformation", CLOUDFORMATION


def is_module(path: str) -> bool:
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:
        return False


USED_NAMES = sorted(used_names())


@pytest.mark.parametrize(("module", "name"), USED_NAMES)
def test_ministack_has_every_name_that_is_used(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name), f"{module} no longer has {name}"


def test_names_of_eight_modules_are_found() -> None:
    assert len({module for module, name in USED_NAMES if name.startswith("_")}) == 8


def test_ministack_keeps_what_belongs_to_an_account_in_a_dictionary_by_names() -> None:
    names = responses.AccountRegionScopedDict()
    names["queue"] = 1
    assert list(names._data.values()) == [1]


def test_documents_ministack_copies_all_messages_to_tell_its_declarations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copies: list[Any] = []
    monkeypatch.setattr(sqs, "copy", SimpleNamespace(deepcopy=copies.append))
    sqs.get_state()
    assert any(each is sqs._queues for each in copies)


def test_expressions_ministack_splits_a_text_for_each_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []
    tokenize = dynamodb._tokenize

    def counting_tokenize(text: str) -> Any:
        texts.append(text)
        return tokenize(text)

    monkeypatch.setattr(dynamodb, "_tokenize", counting_tokenize)
    for _ in range(3):
        dynamodb._evaluate_condition("attribute_exists(a)", {"a": {"S": ""}}, {}, {})
    assert len(texts) >= 3


def test_queue_requests_ministack_takes_the_messages_of_functions_by_its_own_names() -> None:
    source = Path(lambda_svc.__file__).read_text()
    for name in ("_receive_messages_for_esm", "_delete_messages_for_esm"):
        assert f"_sqs.{name}(" in source


def test_retention_ministack_sweeps_the_tables_of_the_settings_that_are_replaced() -> None:
    source = inspect.getsource(dynamodb._ttl_reaper)
    assert "_ttl_settings.all_items()" in source


def test_tables_ministack_keeps_an_index_of_all_items_for_queries() -> None:
    table = {"items": {"p": {"s": {"pk": {"S": "p"}, "at": {"S": "a"}}}}}
    schema = [{"AttributeName": "at", "KeyType": "HASH"}]
    table["GlobalSecondaryIndexes"] = [{"IndexName": "by_at", "KeySchema": schema}]  # type: ignore[assignment]
    assert dynamodb._index_members(table)["by_at"]


@pytest.fixture
def queue_url() -> Iterator[str]:
    sqs._HANDLERS["CreateQueue"]({"QueueName": QUEUE}, "")
    url = sqs._HANDLERS["GetQueueUrl"]({"QueueName": QUEUE}, "")["QueueUrl"]
    yield url
    sqs._HANDLERS["DeleteQueue"]({}, url)


def test_documents_ministack_writes_its_state_only_when_it_ends(tmp_path: Path) -> None:
    cloud = LocalCloud(tmp_path)
    cloud.port = free_port()
    environment = ministack_environment(tmp_path) | {
        "GATEWAY_PORT": str(cloud.port),
        "PERSIST_STATE": "1",
        "TMPDIR": str(tmp_path),
    }
    cloud.process = subprocess.Popen(
        [sys.executable, "-m", "ministack"], env=os.environ | environment
    )
    state = Path(environment["STATE_DIR"]) / "sqs.json"
    try:
        eventually(lambda: answers_http(cloud.port, "/_ministack/health", (200,)))
        cloud.client("sqs").create_queue(QueueName=QUEUE)
        time.sleep(2)
        assert not state.exists()
        cloud.stop(signal.SIGTERM)
        assert QUEUE in state.read_text()
    finally:
        cloud.close()


def test_function_code_ministack_removes_archives_that_the_store_may_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lambda_svc, "CODE_BLOB_DIR", str(tmp_path))
    (tmp_path / "of-an-earlier-state.zip").touch()
    lambda_svc.get_state()
    assert list(tmp_path.iterdir()) == []


def test_function_code_ministack_restores_a_function_without_its_lost_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lambda_svc, "CODE_BLOB_DIR", str(tmp_path))
    function = {"code_zip": {lambda_svc._BLOB_REF_KEY: "lost"}, "code_s3_bucket": "b"}
    lambda_svc._internalize_code_zip(function, {})
    assert function["code_zip"] is None


def test_steady_time_ministack_hides_messages_longer_when_the_clock_is_set_back(
    queue_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    sqs._HANDLERS["SendMessage"]({"MessageBody": "late", "DelaySeconds": 1}, queue_url)
    monkeypatch.setattr(time, "time", lambda: now - 3600 + 2)
    assert not asyncio.run(sqs._HANDLERS["ReceiveMessage"]({}, queue_url)).get("Messages")


def test_queue_requests_ministack_polls_a_queue_repeatedly(
    queue_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    polls = 0
    sleep = asyncio.sleep

    async def counting_sleep(seconds: float) -> None:
        nonlocal polls
        polls += 1
        await sleep(seconds)

    monkeypatch.setattr(sqs.asyncio, "sleep", counting_sleep)
    asyncio.run(sqs._HANDLERS["ReceiveMessage"]({"WaitTimeSeconds": 1}, queue_url))
    assert polls > 3


def test_queue_requests_ministack_goes_on_for_a_receiver_that_hung_up(queue_url: str) -> None:
    assert asyncio.run(_waits_after_disconnect(queue_url)) is True


async def _waits_after_disconnect(queue_url: str) -> bool:
    from ministack.app import app

    body = json.dumps({"QueueUrl": queue_url, "WaitTimeSeconds": 20}).encode()
    events = [
        {"type": "http.request", "body": body, "more_body": False},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Any:
        return events.pop(0) if events else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        pass

    headers = [(b"x-amz-target", b"AmazonSQS.ReceiveMessage"), (b"host", b"127.0.0.1")]
    headers.append((b"content-type", b"application/x-amz-json-1.0"))
    scope = {"type": "http", "method": "POST", "path": "/", "raw_path": b"/", "headers": headers}
    scope |= {"query_string": b"", "client": ("127.0.0.1", 1), "scheme": "http"}
    request = asyncio.ensure_future(app(scope, receive, send))
    await asyncio.sleep(0.5)
    is_waiting = not request.done()
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    return is_waiting


def test_stored_table_ministack_evaluates_every_item_of_a_partition_for_one_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluate: Callable[..., bool] = dynamodb._evaluate_condition
    evaluations = 0

    def counting_evaluate(*arguments: Any, **options: Any) -> bool:
        nonlocal evaluations
        evaluations += 1
        return evaluate(*arguments, **options)

    key = [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    dynamodb._create_table(
        {
            "TableName": QUEUE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
            ],
            "KeySchema": key,
        }
    )
    for number in range(500):
        item = {"pk": {"S": "p"}, "sk": {"S": f"{number:04d}"}}
        dynamodb._put_item({"TableName": QUEUE, "Item": item})
    monkeypatch.setattr(dynamodb, "_evaluate_condition", counting_evaluate)
    page = dynamodb._query(
        {
            "TableName": QUEUE,
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": "p"}},
            "Limit": 10,
        }
    )
    dynamodb._delete_table({"TableName": QUEUE})
    assert json.loads(page[2])["Count"] == 10
    assert evaluations >= 500


def test_wire_protocols_ministack_reads_the_model_of_a_service_for_its_protocol() -> None:
    assert type(responses._service_model("sqs")) is ServiceModel


def test_retention_ministack_ignores_the_lifecycle_rules_of_a_stack() -> None:
    # Importing it takes a second
    provisioners = Path(s3.__file__).parent / "cloudformation" / "provisioners.py"
    assert "LifecycleConfiguration" not in provisioners.read_text()


def test_stored_objects_ministack_answers_for_an_object_that_it_could_not_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts = []

    def fail(*arguments: Any, **options: Any) -> None:
        attempts.append(arguments)
        raise OSError("the disk is full")

    monkeypatch.setattr(s3, "_atomic_write", fail)
    monkeypatch.setattr(s3, "S3_PERSIST", True)
    s3._persist_object("bucket", "key", {"body": b"body"})
    assert attempts, "it tried to write, and raised nothing"
