"""Send, read events and receive webhooks with client libraries of others over the HTTP API."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import HERE, Ports, api_environment, require, run
from tests.free_ports import free_port
from tests.journey.service import Service, eventually


def test_the_node_client_sends_receives_a_webhook_and_reads_events(
    service: Service, ports: Ports, node_programs: Path
) -> None:
    require("node", "nodejs")
    to = "node@inbox.test"
    process = run("node", "sparkpost.mjs", env=api_environment(ports, TO=to), folder=node_programs)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["preview"]["subject"] == "Dear Bo"
    assert result["sent"]["total_accepted_recipients"] == 1
    assert result["transmission"]["transmission"]["num_generated"] == 1
    assert {event["type"] for event in result["events"]} == {"injection", "delivery"}
    assert {event["subject"] for event in result["events"]} == {"Dear Ann"}
    posted = [event for batch in result["batches"] for event in batch["events"] if event]
    (delivery,) = [event for event in posted if event["rcpt_to"] == to]
    assert delivery["event_id"] in {event["event_id"] for event in result["events"]}
    assert all(batch["id"] for batch in result["batches"])
    assert result["validation"]["results"]["response"]["status"] == 200
    assert result["webhooks"][0]["name"] == "Node"
    assert result["template"]["name"] == "Renamed"
    assert result["suppressions"][0]["recipient"] == to
    assert result["list"]["recipients"][0]["address"]["email"] == to
    assert "example.test" in [each["domain"] for each in result["domains"]]
    assert result["subaccount"]["subaccount_id"]
    failure = result["failure"]
    assert (failure["name"], failure["status"]) == ("SparkPostError", 400)
    assert failure["errors"][0]["code"] == "7001"
    (raw,) = service.arrived(to)
    assert message_from_bytes(raw)["Subject"] == "Dear Ann"


def test_nodemailer_sends_over_the_api(
    service: Service, ports: Ports, node_programs: Path, template: str
) -> None:
    require("node", "nodejs")
    to = "transport@inbox.test"
    env = api_environment(ports, TO=to, TEMPLATE=template)
    process = run("node", "transport.mjs", env=env, folder=node_programs)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert [results[name]["accepted"] for name in ("template", "message")] == [1, 2]
    messages = {
        each["Subject"]: each
        for each in (
            message_from_bytes(raw, policy=policy.default) for raw in service.arrived(to, 2)
        )
    }
    assert set(messages) == {"Dear Ann", "Grüße"}
    assert "North" in messages["Dear Ann"].get_body(("plain",)).get_content()
    (attachment,) = messages["Grüße"].iter_attachments()
    assert (attachment.get_filename(), attachment.get_content()) == ("notes.txt", "kept")
    assert messages["Grüße"]["Cc"] == "carl+transport@inbox.test"
    service.arrived("carl+transport@inbox.test")
    number = results["message"]["messageId"]
    event = eventually(lambda: service.events(transmissions=number, recipients=to))[0]
    assert event["campaign_id"] == "clients"


def test_php_sends_and_verifies_the_signature_of_a_webhook(
    service: Service, ports: Ports, template: str, tmp_path: Path
) -> None:
    require("php", "php-cli")
    to, port, log = "php@inbox.test", free_port(), tmp_path / "log"
    files = {"SECRET_FILE": str(tmp_path / "secret"), "LOG": str(log)}
    hook = f"http://127.0.0.1:{port}/"
    env = api_environment(ports, TO=to, TEMPLATE=template, HOOK=hook, **files)
    handler = subprocess.Popen(
        ["php", "-q", "-S", f"127.0.0.1:{port}", "php_http/handler.php"], cwd=HERE, env=env
    )
    try:
        eventually(lambda: is_listening(port))
        process = run("php", "php_http/client.php", env=env)
        assert process.returncode == 0, process.stdout + process.stderr
        result = json.loads(process.stdout)
        (event,) = result["events"]
        eventually(lambda: log.exists() and event["event_id"] in log.read_text())
        path = f"/api/v1/webhooks/{result['webhook']}"
        assert service.request("DELETE", path).status == 204
    finally:
        handler.terminate()
        handler.wait(timeout=60)
    assert (event["type"], event["subject"]) == ("delivery", "Dear Jörg")
    (raw,) = service.arrived(to)
    message = message_from_bytes(raw, policy=policy.default)
    assert message["To"] == f"Jörg <{to}>"
    assert "Nürnberg" in message.get_body(("plain",)).get_content()


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_django_sends_with_the_backend_of_the_python_library(
    service: Service, ports: Ports
) -> None:
    to = "django@inbox.test"
    env = api_environment(ports, TO=to, SPARKPOST_BASE_URI=f"localhost:{ports.api_tls}")
    process = run(sys.executable, "sparkpost_django/send.py", env=env)
    assert process.stdout == "1\n", process.stderr
    (raw,) = service.arrived(to)
    message = message_from_bytes(raw, policy=policy.default)
    assert (message["Subject"], message["From"]) == ("Grüße", "Ann <ann@example.test>")
    (attachment,) = message.iter_attachments()
    assert (attachment.get_filename(), attachment.get_content()) == ("notes.txt", "kept")
    eventually(lambda: service.event_types(to) == ["injection", "delivery"])
    assert {event["campaign_id"] for event in service.events(recipients=to)} == {"clients"}


class Anymail:
    """The running Django project, and the lines that it printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self.input, self.output = process.stdin, process.stdout
        self.url: str = self._read()["url"]
        self.results: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []

    def _read(self) -> Any:
        return json.loads(self.output.readline())

    def send(self) -> None:
        """Let the project send its messages, then keep reading the events that it handles."""
        self.input.write("send\n")
        self.input.flush()
        self.results = [self._read(), self._read()]
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        for line in self.output:
            self.events.append(json.loads(line))

    def types(self, recipient: str) -> set[str]:
        """Return the types of the events that a recipient has so far."""
        return {event["type"] for event in self.events if event["recipient"] == recipient}


#: What each recipient does, and the events that Anymail reports
REACTIONS = {
    "open+anymail@inbox.test": {"queued", "delivered", "opened"},
    "click+anymail@inbox.test": {"queued", "delivered", "clicked"},
    "unsubscribe+anymail@inbox.test": {"queued", "delivered", "unsubscribed"},
    "complain+anymail@inbox.test": {"queued", "delivered", "complained"},
    "bounce-hard+anymail@inbox.test": {"queued", "bounced"},
    "bounce-soft+anymail@inbox.test": {"queued", "bounced"},
    "defer+anymail@inbox.test": {"queued", "deferred", "delivered"},
    "oob+anymail@inbox.test": {"queued", "delivered", "bounced"},
}


@pytest.fixture
def anymail(ports: Ports, template: str) -> Iterator[Anymail]:
    recipients = ",".join(REACTIONS)
    env = api_environment(ports, TEMPLATE=template, RECIPIENTS=recipients)
    process = subprocess.Popen(
        [sys.executable, str(HERE / "anymail" / "app.py")],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Anymail(process)
    finally:
        process.terminate()
        process.wait(timeout=60)


EVENTS = [
    *("injection", "delivery", "bounce", "delay", "out_of_band", "spam_complaint", "click"),
    *("open", "list_unsubscribe", "link_unsubscribe"),
    *("generation_failure", "generation_rejection", "policy_rejection"),
]


def check_message_of_anymail(service: Service) -> None:
    """Check the message that the project sends besides the template."""
    (raw,) = service.arrived("carl@anymail.test")
    message = message_from_bytes(raw, policy=policy.default)
    assert (message["Subject"], message["From"]) == ("Grüße", "Ann <ann@example.test>")
    assert (message["To"], message["Cc"]) == (next(iter(REACTIONS)), "Carl <carl@anymail.test>")
    (attachment,) = message.iter_attachments()
    assert (attachment.get_filename(), attachment.get_content()) == ("notes.txt", "kept")


def test_anymail_sends_templates_and_its_signals_report_all_events(
    service: Service, anymail: Anymail
) -> None:
    webhook = {
        "name": "Anymail",
        "target": anymail.url,
        "events": EVENTS,
        "auth_type": "basic",
        "auth_credentials": {"username": "hook", "password": "secret"},
    }
    response = service.request("POST", "/api/v1/webhooks", webhook)
    assert response.status == 200, response.body
    anymail.send()
    assert [result["status"] for result in anymail.results] == [["queued"], ["queued"]]
    eventually(lambda: all(anymail.types(to) >= types for to, types in REACTIONS.items()))
    assert {to: anymail.types(to) for to in REACTIONS} == REACTIONS

    path = f"/api/v1/webhooks/{response.json['results']['id']}"
    assert service.request("DELETE", path).status == 204
    of_template = [
        each for each in anymail.events if each["message_id"] == anymail.results[0]["id"]
    ]
    for event in of_template:
        assert (event["esp"], event["tags"]) == ("SparkPost", ["clients"])
        assert event["metadata"] == {"order": event["recipient"]}
        assert event["event_id"]
        assert event["at"]
    reasons = {each["recipient"]: each["reject_reason"] for each in of_template}
    assert reasons["bounce-hard+anymail@inbox.test"] == "invalid"
    assert reasons["bounce-soft+anymail@inbox.test"] == "bounced"
    (click,) = [each for each in of_template if each["type"] == "clicked"]
    assert click["url"] == "https://shop.example/"
    assert click["user_agent"]
    check_message_of_anymail(service)
