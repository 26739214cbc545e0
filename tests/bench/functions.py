"""Measure the peak memory and the longest call of each Lambda function, run from the archive.

Three requests, each as large as API Gateway accepts, run through the whole service: one with 10,000
recipients, one with an attachment of 3 MB, and one that ingests 100,000 events. The largest message
that the relay accepts follows. A webhook receives all recorded events. Each function handles its
queue messages in a fresh process, like a cold Lambda. Memory is the process's peak; the bar is four
fifths of the memory that ``infrastructure/deployment/functions.py`` gives the function. Schedules
are called once, on the data that the requests stored.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from chalicelib.core import aws
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.transmissions.accept_smtp import SmtpMessage, accept_message
from infrastructure.deployment.functions import FunctionKind, functions
from infrastructure.package import build, host_architecture
from tests.bench.cloud_service import api_event, cloud_service
from tests.bench.start import linked_runtime

SHARE = 0.8
# Function → messages for each call, in the order in which a message passes the functions
BATCHES = {
    "ingest": 1,
    "generation": 1,
    "small_sends": 1,
    "delivery": 1,
    "events": 100,
    "webhook_events": 100,
    "webhook_batches": 10,
    "event_exports": 10,
    "inbound_mail": 10,
}
CALLS = 20
INGESTED = 100_000
LARGEST = settings().max_message_bytes


CHILD = """
import json, sys, time
sys.path[:0] = sys.argv[1:3]
import app
from chalicelib.core import aws
from chalicelib.core.settings import settings
name, argument, most, longest, calls = sys.argv[3], sys.argv[4], int(sys.argv[5]), 0.0, 0
if name == "api_handler":
    event = json.load(open(argument))
    began = time.perf_counter()
    response = app.app(event, None)
    longest, calls = time.perf_counter() - began, 1
    assert response["statusCode"] == 200, response["body"][:500]
elif name in app.SCHEDULES:
    event = dict.fromkeys(("id", "account", "region", "detail-type", "source", "time"), "")
    began = time.perf_counter()
    app.SCHEDULES[name](event | {"version": "0", "detail": {}, "resources": []}, None)
    longest, calls = time.perf_counter() - began, 1
else:
    sqs, queue = aws.sqs(), settings().queue(name.replace("_", "-"))
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    quiet = 0
    while quiet < 2 and calls < most:
        messages = []
        while len(messages) < int(argument):
            received = sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=min(10, int(argument)), VisibilityTimeout=600,
                WaitTimeSeconds=0 if messages else 1, AttributeNames=["All"],
            ).get("Messages", [])
            messages += received
            if not received:
                break
        quiet = 0 if messages else quiet + 1
        if not messages:
            continue
        records = [{
            "messageId": each["MessageId"], "receiptHandle": each["ReceiptHandle"],
            "body": each["Body"], "attributes": each["Attributes"], "messageAttributes": {},
            "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:x:1:" + queue,
            "awsRegion": "us-east-1",
        } for each in messages]
        calls += 1
        began = time.perf_counter()
        result = getattr(app, name)({"Records": records}, None)
        longest = max(longest, time.perf_counter() - began)
        assert not result["batchItemFailures"], result
        for each in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
(line,) = [each for each in open("/proc/self/status") if each.startswith("VmHWM:")]
print(json.dumps({"peak": int(line.split()[1]) / 1024, "longest": longest, "calls": calls}))
"""


def main() -> None:
    """Run the loads and print the figures."""
    with tempfile.TemporaryDirectory() as directory, cloud_service() as service:
        root = Path(directory)
        package = build(root / "out", architecture=host_architecture(), installed=True)
        with zipfile.ZipFile(package.archive) as files:
            files.extractall(root / "code")
        linked_runtime(root)
        webhook = json.dumps(service.webhook()).encode()
        _call_api(root, api_event(service.key, "/api/v1/webhooks", webhook))
        for title, path, body in (
            ("10,000 recipients", "/api/v1/transmissions", _many_recipients()),
            ("an attachment of 3 MB", "/api/v1/transmissions", _large_attachment()),
            (f"{INGESTED:,} ingested events", "/api/v1/ingest/events", _ingested_events()),
        ):
            print(f"{title} ({len(body) / 1e6:.1f} MB)", flush=True)
            _print("api_handler", _call_api(root, api_event(service.key, path, body)))
            _work_off_queues(root)
        print("a message of 20 MB over the relay")
        _relay_largest()
        _work_off_queues(root)
        print("schedules")
        for name in (each.name for each in functions() if each.kind is FunctionKind.SCHEDULE):
            _print(name, _run(root, name, ""))


def _work_off_queues(root: Path) -> None:
    """Let each function handle the messages of its queue, then purge the queues."""
    for name, batch in BATCHES.items():
        _print(name, _run(root, name, str(batch)))
    for name in BATCHES:
        url = aws.sqs().get_queue_url(QueueName=settings().queue(name.replace("_", "-")))
        aws.sqs().purge_queue(QueueUrl=url["QueueUrl"])


def _relay_largest() -> None:
    """Accept the largest message as the relay does, for twenty recipients."""
    head = b"From: a@example.test\r\nTo: b@inbox.test\r\nSubject: Large\r\n\r\n"
    lines = base64.encodebytes(random.Random(1).randbytes(LARGEST)).replace(b"\n", b"\r\n")
    data = head + lines[: LARGEST - 100_000]
    recipients = tuple(f"person{i}@inbox.test" for i in range(20))
    accept_message(1, None, SmtpMessage("a@example.test", recipients, data, "192.0.2.1"))


def _call_api(root: Path, event: Json) -> Json:
    (root / "event.json").write_text(json.dumps(event))
    return _run(root, "api_handler", str(root / "event.json"))


def _print(name: str, report: Json) -> None:
    if not report["calls"]:
        return
    size = {function.name: function.size for function in functions()}[name]
    fits = report["peak"] <= size.memory * SHARE and report["longest"] <= size.timeout
    print(
        f"  {name:19s} {report['peak']:5.0f} of {size.memory} MB, longest of {report['calls']:2d} "
        f"calls {report['longest']:6.2f} of {size.timeout} s: {'ok' if fits else 'OVER'}"
    )


def _run(root: Path, name: str, argument: str) -> Json:
    command = [sys.executable, "-I", "-S", "-c", CHILD, str(root / "code"), str(root / "runtime")]
    command += [name, argument, str(CALLS)]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ)
    return json.loads(process.stdout.splitlines()[-1])


def _many_recipients() -> bytes:
    recipients = [
        {
            "address": {"email": f"person{i}@inbox.test", "name": f"Person {i}"},
            "substitution_data": {"name": f"Person {i}", "city": "Oslo", "pad": "x" * 260},
        }
        for i in range(10_000)
    ]
    html = "<p>Hello {{name}} in {{city}}</p>" + "<p>Text of a newsletter.</p>" * 600
    return _body(recipients, {"html": html})


def _large_attachment() -> bytes:
    noise = base64.b64encode(random.Random(1).randbytes(3_000_000)).decode()
    attachment = {"name": "noise.bin", "type": "application/octet-stream", "data": noise}
    recipients = [{"address": f"person{i}@inbox.test"} for i in range(20)]
    return _body(recipients, {"text": "See the attachment", "attachments": [attachment]})


def _body(recipients: list[Json], content: Json) -> bytes:
    full_content = {"from": "a@example.test", "subject": "Hello {{name}}", **content}
    return json.dumps({"recipients": recipients, "content": full_content}).encode()


def _ingested_events() -> bytes:
    """Return a batch of events; one in a hundred is invalid."""
    moment = str(int(time.time()) - 60)
    lines = [
        json.dumps(
            {
                "type": "delivery",
                "timestamp": moment if i % 100 else "never",
                "event_id": f"theirs-{i}",
                "rcpt_to": f"person{i}@inbox.test",
                "message_id": f"message-{i}",
                "subject": f"Hello {i}",
                "campaign_id": "elsewhere",
            }
        )
        for i in range(INGESTED)
    ]
    return gzip.compress("\n".join(lines).encode())


if __name__ == "__main__":
    main()
