"""Mail comes in at the inbound port, by clients of others, and is posted with the id of its 250."""

from __future__ import annotations

import json
import smtplib
import subprocess
from collections.abc import Iterator

import pytest

from tests.http_target import Target, serving
from tests.journey.programs import needs_swaks
from tests.journey.service import Service, eventually

DOMAIN = "port-inbound.test"
TEXT = "From: Ann <ann@sender.test>\r\nSubject: A question\r\n\r\n.Why?\r\n"


@pytest.fixture(scope="module")
def target(service: Service) -> Iterator[Target]:
    """Return the target of a relay webhook for the domain."""
    with serving() as target:
        body = {"name": "Port", "target": target.url, "match": {"domain": DOMAIN}}
        for path, fields in (("inbound-domains", {"domain": DOMAIN}), ("relay-webhooks", body)):
            assert service.request("POST", f"/api/v1/{path}", fields).status == 200
        yield target


@pytest.fixture
def port(service: Service) -> int:
    return int(json.loads((service.data_dir / "ports.json").read_text())["inbound"])


def posted(target: Target, reply: str) -> dict[str, object]:
    """Wait for the post of a message; return what it says of the message."""
    batch_id = f"{reply.split()[-1]}00"
    post = eventually(lambda: next((p for p in target.batches() if p.batch_id == batch_id), None))
    (element,) = post.json
    return dict(element["svc"]["relay_message"])


def test_a_client_of_the_standard_library_is_served_by_data_and_by_chunks(
    port: int, target: Target
) -> None:
    for kind in ("DATA", "BDAT"):
        with smtplib.SMTP("127.0.0.1", port, "mx.test", timeout=120) as client:
            client.ehlo()
            assert client.has_extn("chunking")
            assert not client.has_extn("dsn")
            client.mail("ann@sender.test", ["SIZE=100", "RET=HDRS"])
            code, _ = client.rcpt(f"any+{kind}@{DOMAIN}", ["NOTIFY=NEVER"])
            assert code == 250
            if kind == "DATA":
                code, reply = client.data(TEXT)
            else:
                client.send(b"BDAT %d LAST\r\n" % len(TEXT) + TEXT.encode())
                code, reply = client.getreply()
        assert code == 250
        message = posted(target, reply.decode())
        content = message["content"]
        assert isinstance(content, dict)
        assert message["rcpt_to"] == f"any+{kind}@{DOMAIN}"
        assert content["text"].strip() == ".Why?"
        assert content["email_rfc822"].startswith("Received: from mx.test ([127.0.0.1])")


def test_nobody_else_is_served(port: int) -> None:
    with smtplib.SMTP("127.0.0.1", port, "mx.test", timeout=120) as client:
        client.ehlo()
        client.mail("ann@sender.test")
        assert client.rcpt("someone@elsewhere.test")[0] == 550
        assert client.rcpt(f"someone@below.{DOMAIN}")[0] == 550


@needs_swaks
@pytest.mark.parametrize("options", [[], ["--tls"], ["--pipeline"]])
def test_swaks_is_served(port: int, target: Target, options: list[str]) -> None:
    process = subprocess.run(
        [
            *("swaks", "--server", "127.0.0.1", "--port", str(port), "--from", "ann@sender.test"),
            *("--to", f"by-swaks@{DOMAIN}", *options),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stdout
    lines = [line for line in process.stdout.splitlines() if "250 2.0.0 OK " in line]
    assert posted(target, lines[-1])["msg_from"] == "ann@sender.test"
