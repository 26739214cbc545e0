"""What each function needs: the peak memory and the time of its largest work, from the archive.

Two requests, each as large as API Gateway passes on, go the whole way: one with 10,000 recipients
and one with an attachment of 3 MB. Each function works on its share of them in a fresh process, as
a cold Lambda would. Memory is the process's peak; the bar is four fifths of what
``infrastructure/functions.py`` gives the function.
"""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller

from chalicelib.api_keys import model as keys
from infrastructure.bootstrap import first_start
from infrastructure.functions import functions
from infrastructure.package import build, host_architecture
from tests.bench.local_cloud import local_cloud
from tests.bench.start import linked_runtime
from tests.unit.infrastructure.clouds import free_port

SHARE = 0.8
QUEUES = ("generation", "delivery", "events")
BATCHES = {"generation": 1, "delivery": 1, "events": 10}
CALLS = 20

Json = dict[str, Any]

CHILD = """
import json, sys, time
sys.path[:0] = sys.argv[1:3]
import app
from chalicelib.core import aws
from chalicelib.core.settings import settings
name, longest = sys.argv[3], 0.0
if name == "api_handler":
    event = json.load(open(sys.argv[4]))
    began = time.perf_counter()
    answer = app.app(event, None)
    longest = time.perf_counter() - began
    assert answer["statusCode"] == 200, answer["body"][:500]
else:
    sqs, queue = aws.sqs(), settings().queue(name)
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    quiet = calls = 0
    while quiet < 2 and calls < int(sys.argv[5]):
        found = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=int(sys.argv[4]), VisibilityTimeout=600,
            WaitTimeSeconds=1, AttributeNames=["All"],
        ).get("Messages", [])
        quiet = 0 if found else quiet + 1
        if not found:
            continue
        records = [{
            "messageId": each["MessageId"], "receiptHandle": each["ReceiptHandle"],
            "body": each["Body"], "attributes": each["Attributes"], "messageAttributes": {},
            "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:x:1:" + queue,
            "awsRegion": "us-east-1",
        } for each in found]
        calls += 1
        began = time.perf_counter()
        answer = getattr(app, name)({"Records": records}, None)
        longest = max(longest, time.perf_counter() - began)
        assert not answer["batchItemFailures"], answer
        for each in found:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
(line,) = [each for each in open("/proc/self/status") if each.startswith("VmHWM:")]
print(json.dumps({"peak": int(line.split()[1]) / 1024, "longest": longest}))
"""


class Taking:
    """A mail host that takes everything and keeps nothing."""

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Take the message."""
        return "250 OK"


def main() -> None:
    """Run the loads and print."""
    sizes = {function.name: function.size for function in functions()}
    sink = Controller(Taking(), hostname="127.0.0.1", port=free_port(), data_size_limit=1 << 26)
    sink.start()
    with tempfile.TemporaryDirectory() as directory, local_cloud():
        root = Path(directory)
        os.environ |= {"SMARTHOST": f"127.0.0.1:{sink.port}", "SMARTHOST_TLS": "off"}
        key = keys.draw_key()
        first_start(key)
        package = build(root / "out", architecture=host_architecture(), installed=True)
        with zipfile.ZipFile(package.archive) as files:
            files.extractall(root / "code")
        linked_runtime(root)
        for title, body in (("10,000 recipients", _many()), ("3 MB attached", _large())):
            print(f"{title} ({len(body) / 1e6:.1f} MB)")
            (root / "event.json").write_text(json.dumps(_event(key, body)))
            runs = [("api_handler", str(root / "event.json"))]
            for name, argument in runs + [(queue, str(BATCHES[queue])) for queue in QUEUES]:
                found = _run(root, name, argument)
                size = sizes[name]
                fits = found["peak"] <= size.memory * SHARE
                print(
                    f"  {name:12s} {found['peak']:5.0f} of {size.memory} MB, longest call "
                    f"{found['longest']:6.2f} of {size.timeout} s: {'ok' if fits else 'OVER'}"
                )
    sink.stop()


def _run(root: Path, name: str, argument: str) -> Json:
    command = [sys.executable, "-I", "-S", "-c", CHILD, str(root / "code"), str(root / "runtime")]
    command += [name, argument, str(CALLS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ)
    return json.loads(done.stdout.splitlines()[-1])


def _many() -> bytes:
    people = [
        {
            "address": {"email": f"person{i}@inbox.test", "name": f"Person {i}"},
            "substitution_data": {"name": f"Person {i}", "city": "Oslo", "pad": "x" * 260},
        }
        for i in range(10_000)
    ]
    html = "<p>Hello {{name}} in {{city}}</p>" + "<p>Text of a newsletter.</p>" * 600
    return _body(people, {"html": html})


def _large() -> bytes:
    noise = base64.b64encode(random.Random(1).randbytes(3_000_000)).decode()
    attached = {"name": "noise.bin", "type": "application/octet-stream", "data": noise}
    people = [{"address": f"person{i}@inbox.test"} for i in range(20)]
    return _body(people, {"text": "See the attachment", "attachments": [attached]})


def _body(people: list[Json], content: Json) -> bytes:
    whole = {"from": "a@example.test", "subject": "Hello {{name}}", **content}
    return json.dumps({"recipients": people, "content": whole}).encode()


def _event(key: str, body: bytes) -> Json:
    return {
        "path": "/api/v1/transmissions",
        "headers": {"Authorization": key, "Content-Type": "application/json"},
        "requestContext": {
            "resourcePath": "/{proxy+}",
            "httpMethod": "POST",
            "requestId": "r",
            "identity": {"sourceIp": "192.0.2.1"},
        },
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


if __name__ == "__main__":
    main()
