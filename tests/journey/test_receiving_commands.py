"""Mail that comes in by the command line: played into the service, listed and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postfinch.http_api import Unreachable
from tests.free_ports import free_port
from tests.journey.service import KEY, Service
from tests.unit.postfinch.api_server import run

DOMAIN = "command-reply.test"
SOURCE = b"""From: Ann <ann@customer.test>
To: Support <support+7@command-reply.test>
Cc: boss@elsewhere.test
Subject: Broken lamp
Message-ID: <1@customer.test>

.It does not shine.

> Your order
"""


@pytest.fixture(autouse=True)
def _address(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTFINCH_URL", f"http://localhost:{service.api_port}")
    monkeypatch.setenv("POSTFINCH_API_KEY", KEY)


@pytest.fixture(scope="module", autouse=True)
def _domain(service: Service) -> Iterator[None]:
    """Have an inbound domain, whose messages are posted to the local service itself."""
    target = f"http://localhost:{service.api_port}/local/webhooks/command-reply"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("POSTFINCH_URL", f"http://localhost:{service.api_port}")
        environment.setenv("POSTFINCH_API_KEY", KEY)
        output = run("inbound", "add", DOMAIN, "--webhook", target, "--json")
        view = json.loads(output.splitlines()[-1])
        assert (view["domain"], view["mx_status"]) == (DOMAIN, "valid")
        yield
        run("inbound", "remove", DOMAIN, "--yes")


def read(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_a_message_of_a_file_comes_in_and_is_read_and_posted(
    service: Service, tmp_path: Path
) -> None:
    file = tmp_path / "lamp.eml"
    file.write_bytes(SOURCE)
    port = ("--port", service.inbound_port)
    output = run("mail", "receive", "--eml", file, "--wait", *port)
    assert "not for this service, and left out: boss@elsewhere.test" in output
    message_id, recipient, _ = output.splitlines()[-1].split("\t")
    assert recipient == f"support+7@{DOMAIN}"
    (row,) = read("inbound", "list", "--to", recipient, "--subject", "lamp")
    assert (row["id"], row["msg_from"], row["action"]) == (
        message_id,
        "ann@customer.test",
        "webhook",
    )
    text = run("inbound", "show", message_id)
    assert ".It does not shine." in text
    assert "posted to the relay webhook" in text
    assert "dmarc: none" in text
    assert read("inbound", "show", message_id)["tag"] == "7"
    raw = run("inbound", "show", message_id, "--raw").replace("\r", "")
    assert raw.startswith("Received: ")
    assert raw.endswith(SOURCE.decode().partition("Cc:")[2])


def test_a_message_is_made_of_options_and_standard_input(service: Service) -> None:
    port = ("--port", service.inbound_port)
    options = ("--to", f"a@{DOMAIN}", "--from", "ben@customer.test", "--subject", "Made")
    run("mail", "receive", *options, "--text", "Hello", "--wait", *port)
    (row,) = read("inbound", "list", "--from", "ben@customer.test")
    assert row["subject"] == "Made"
    data = SOURCE.decode().replace("ann@", "cleo@")
    command = ("mail", "receive", "--eml", "-", "--to", f"b@{DOMAIN}", "--from", "", "--wait")
    output = run(*command, *port, answer=data)
    assert f"\tb@{DOMAIN}\t-" in output
    (row,) = read("inbound", "list", "--to", f"b@{DOMAIN}")
    assert row["msg_from"] == ""


def test_a_recipient_whose_domain_is_not_registered_is_refused_with_the_remedy(
    service: Service,
) -> None:
    command = ("mail", "receive", "--to", "a@unknown-reply.test", "--text", "Hello")
    output = run(*command, "--port", service.inbound_port, code=1)
    assert "the service takes no mail for a@unknown-reply.test (550 " in output
    assert "postfinch inbound add unknown-reply.test" in output
    output = run("mail", "receive", "--text", "Hello", code=2)
    assert "name a file by --eml" in output
    with pytest.raises(Unreachable, match="no mail can be played into localhost:"):
        run(*command, "--port", free_port())


def test_the_relay_webhook_of_a_domain_is_shown_changed_and_removed() -> None:
    assert run("inbound", "webhook", DOMAIN).endswith("/local/webhooks/command-reply\n")
    run("inbound", "webhook", DOMAIN, "http://localhost:9/other")
    (row,) = [each for each in run("inbound", "domains").splitlines() if DOMAIN in each]
    assert row.split("\t")[:4] == [DOMAIN, "active", "valid", "http://localhost:9/other"]
    run("inbound", "webhook", DOMAIN, "--remove")
    assert "has no relay webhook" in run("inbound", "webhook", DOMAIN)
    assert run("inbound", "check", DOMAIN) == "mx: valid\n"
    run("inbound", "add", "broken-reply.test")
    assert "MX broken-reply.test is invalid (" in run(
        "inbound", "check", "broken-reply.test", code=1
    )
    run("inbound", "remove", "broken-reply.test", "--yes")
    assert "there is no message abc" in run("inbound", "show", "abc", code=1)
