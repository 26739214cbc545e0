"""Move a machine's folder to a deployed stage, use the stage, and move back to another folder.

The tests build on one another: each pass goes on from the one before.
"""

from __future__ import annotations

import base64
import email.policy
import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dkim
import pytest

from chalicelib.core import clock
from infrastructure.local.supervisor.cloud_access import aws_environment
from infrastructure.package import Package
from tests.deployment.deployed import Deployment, eventually
from tests.http_response import Response
from tests.journey.service import KEY, ROOT, Service

LINK = re.compile(r"href=\"http://localhost:\d+(/[\w./-]+)\"")
HTML = '<p>Hi {{name}}</p><a href="https://shop.example/chairs">chairs</a>'
RECIPIENT = "ann@inbox.test"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
PASSWORD = "of the webhook"


@dataclass
class Machine:
    """A service on one machine and what it sent before the move."""

    service: Service
    message: EmailMessage
    link: str
    webhook: str
    dkim_record: bytes


@dataclass
class Stage:
    """A deployed stage, with the key that the moved service has."""

    deployment: Deployment

    def request(self, method: str, path: str, body: Any = None) -> Response:
        """Send a request with the key of the machine's first account."""
        return self.deployment.request(method, path, body, headers={"Authorization": KEY})

    def visit(self, path: str, method: str = "GET") -> int:
        """Visit a link as a browser does, without following redirects; return the status."""
        assert self.deployment.last is not None
        url = urlsplit(self.deployment.last.url)
        connection = http.client.HTTPConnection(url.netloc, timeout=120)
        body = "List-Unsubscribe=One-Click" if method == "POST" else None
        headers = {"User-Agent": BROWSER}
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, url.path + path, body, headers)
        return connection.getresponse().status


@pytest.fixture(scope="module")
def stage(deployed: Deployment, package: Package) -> Stage:
    """A stage that nobody has used, beside the one of the other tests."""
    fresh = Deployment(deployed.cloud, package, deployed.sink, "amber")
    fresh.deploy(
        Smarthost=f"127.0.0.1:{deployed.sink.port}",
        SmarthostTls="off",
        EventsLag="0",
        RedeliveryBase="0",
    )
    fresh.keep_schedules("RollUpMetrics")
    return Stage(fresh)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A service with a little of everything."""
    service = Service(tmp_path_factory.mktemp("machine"))
    with service:
        webhook = create(
            service,
            "/api/v1/webhooks",
            name="orders",
            target=f"http://127.0.0.1:{service.api_port}/local/webhooks/orders",
            events=["delivery"],
            auth_type="basic",
            auth_credentials={"username": "shop", "password": PASSWORD},
        )
        content = {"from": "hello@example.test", "subject": "Chairs", "html": HTML}
        create(service, "/api/v1/templates", id="chairs", published=True, content=content)
        recipients = [{"address": {"email": f"r{number}@inbox.test"}} for number in range(3)]
        create(service, "/api/v1/recipient-lists", id="garden", recipients=recipients)
        body = {"type": "non_transactional", "description": "asked"}
        path = "/api/v1/suppression-list/bob@inbox.test"
        assert service.request("PUT", path, body).status == 200
        create(
            service,
            "/api/v1/transmissions",
            campaign_id="spring",
            recipients=[{"address": RECIPIENT, "substitution_data": {"name": "Ann"}}],
            content={"template_id": "chairs"},
        )
        (raw,) = service.arrived(RECIPIENT)
        message = parsed(raw)
        part = message.get_body(("html",))
        assert part is not None
        link = LINK.search(str(part.get_content()))
        assert link is not None
        domain = service.request("GET", "/api/v1/sending-domains/example.test").json["results"]
        record = f"v=DKIM1; k=rsa; p={domain['dkim']['public']}".encode()
        eventually(lambda: "delivery" in service.event_types(RECIPIENT), 60)
        eventually(lambda: delivered(service, "spring") == 1, 60)
        eventually(lambda: service.queued() == 0, 60)
        yield Machine(service, message, link[1], webhook, record)


def create(service: Service, path: str, **body: Any) -> str:
    response = service.request("POST", path, body)
    assert response.status == 200, response.body
    return str(response.json["results"]["id"])


def parsed(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def delivered(place: Service | Stage, campaign: str) -> int:
    """Return how many messages of a campaign were delivered, by the metrics."""
    path = "/api/v1/metrics/deliverability/campaign?from=2020-01-01T00:00&metrics=count_delivered"
    rows = place.request("GET", path).json["results"]
    return sum(row["count_delivered"] for row in rows if row["campaign_id"] == campaign)


def in_an_hour() -> str:
    start = datetime.fromtimestamp(clock.now(), UTC) + timedelta(hours=1)
    return start.isoformat(timespec="seconds")


def events(stage: Stage, recipient: str = RECIPIENT) -> list[str]:
    response = stage.request("GET", f"/api/v1/events/message?recipients={recipient}")
    return sorted(event["type"] for event in response.json["results"])


def move(stage: Stage, data_dir: Path, direction: str, *options: str) -> str:
    """Run the command, which must end well; return what it says."""
    url = stage.deployment.cloud.url
    other = json.dumps({"name": "amber", "stage": "amber", "endpoint_url": url})
    environment = {name: text for name, text in os.environ.items() if name != "SECRET_KEY"}
    arguments = ["--data-dir", str(data_dir), "--direction", direction, "--other", other, *options]
    result = subprocess.run(
        [sys.executable, "-m", "infrastructure.machine.moving", *arguments],
        cwd=ROOT,
        env=environment | aws_environment(url, "test"),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_running_machine_is_copied_to_the_stage(machine: Machine, stage: Stage) -> None:
    check = move(stage, machine.service.data_dir, "to", "--check")
    assert "the stage amber, which is fresh" in check
    assert "MISSING" not in move(stage, machine.service.data_dir, "to")
    results = stage.request("GET", "/api/v1/account").json["results"]
    assert results["company_name"] == "Postfinch"
    path = "/api/v1/recipient-lists/garden?show_recipients=true"
    # The emulator knows no binary media types, and leaves the body in base64
    document = json.loads(base64.b64decode(stage.request("GET", path).body))
    assert len(document["results"]["recipients"]) == 3
    assert stage.request("GET", "/api/v1/suppression-list/bob@inbox.test").status == 200
    assert events(stage) == ["delivery", "injection"]
    assert delivered(stage, "spring") == 1


def test_the_first_key_of_the_stage_opens_nothing_any_more(stage: Stage) -> None:
    eventually(lambda: stage.deployment.request("GET", "/api/v1/account").status == 401, 60)


def test_the_secret_of_the_webhook_opens_on_the_stage(machine: Machine, stage: Stage) -> None:
    path = f"/api/v1/webhooks/{machine.webhook}"
    webhook = stage.request("GET", path).json["results"]
    assert webhook["auth_credentials"]["password"] == PASSWORD
    # A stage posts nothing to loopback: its batches would stay under way
    assert stage.request("PUT", path, {"active": False}).status == 200


def test_the_stage_signs_with_the_key_of_the_machine(machine: Machine, stage: Stage) -> None:
    body = {
        "recipients": [{"address": "cid@inbox.test", "substitution_data": {"name": "Cid"}}],
        "content": {"template_id": "chairs"},
        "campaign_id": "spring",
    }
    assert stage.request("POST", "/api/v1/transmissions", body).status == 200
    sink = stage.deployment.sink
    (raw,) = eventually(lambda: sink.messages_to("cid@inbox.test"), 60)
    assert b"d=example.test" in raw
    assert dkim.verify(raw, dnsfunc=lambda name, timeout=0: machine.dkim_record)


def test_a_link_in_mail_of_the_machine_counts_a_click(machine: Machine, stage: Stage) -> None:
    assert stage.visit(machine.link) == 302
    eventually(lambda: "click" in events(stage), 60)


def test_an_unsubscription_from_mail_of_the_machine_works(machine: Machine, stage: Stage) -> None:
    header = str(machine.message["List-Unsubscribe"])
    path = re.search(r"<http://localhost:\d+(/[^>]+)>", header)
    assert path is not None
    assert stage.visit(path[1], "POST") == 200
    eventually(lambda: "list_unsubscribe" in events(stage), 60)
    eventually(
        lambda: stage.request("GET", f"/api/v1/suppression-list/{RECIPIENT}").status == 200, 60
    )


def test_the_last_copy_adds_what_the_machine_has_done_meanwhile(
    machine: Machine, stage: Stage
) -> None:
    body = {
        "recipients": [{"address": "dan@inbox.test", "substitution_data": {"name": "Dan"}}],
        "content": {"template_id": "chairs"},
        "campaign_id": "spring",
    }
    assert machine.service.request("POST", "/api/v1/transmissions", body).status == 200
    later = body | {"options": {"start_time": in_an_hour()}}
    scheduled = create(machine.service, "/api/v1/transmissions", **later)
    eventually(lambda: "delivery" in machine.service.event_types("dan@inbox.test"), 60)
    eventually(lambda: delivered(machine.service, "spring") == 2, 60)
    eventually(lambda: machine.service.queued() == 0, 60)
    eventually(lambda: delivered(stage, "spring") == 2, 90)
    assert stage.request("GET", f"/api/v1/transmissions/{scheduled}").status == 404
    machine.service.stop()
    said = move(stage, machine.service.data_dir, "to")
    assert "Complete" in said
    eventually(lambda: delivered(stage, "spring") == 3, 60)
    assert "delivery" in events(stage, "dan@inbox.test")
    assert "click" in events(stage)
    assert stage.request("GET", f"/api/v1/transmissions/{scheduled}").status == 200


def test_a_deployment_after_the_move_keeps_the_key_of_links(machine: Machine, stage: Stage) -> None:
    stage.deployment.deploy(EventsLag="1")
    assert stage.visit(machine.link) == 302
    assert stage.request("GET", "/api/v1/account").status == 200


def test_the_stage_moves_back_to_a_machine(
    machine: Machine, stage: Stage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    service = Service(tmp_path_factory.mktemp("back"))
    with service:
        assert service.request("GET", "/api/v1/account").status == 200
    eventually(lambda: stage.deployment.queued() == 0, 60)
    said = move(stage, service.data_dir, "from", "--last")
    assert "MISSING" not in said
    with service:
        assert delivered(service, "spring") == 3
        assert "click" in service.event_types(RECIPIENT)
        path = f"/api/v1/webhooks/{machine.webhook}"
        webhook = service.request("GET", path).json["results"]
        assert webhook["auth_credentials"]["password"] == PASSWORD
        service.send("eve@inbox.test")
        (raw,) = service.arrived("eve@inbox.test")
        assert dkim.verify(raw, dnsfunc=lambda name, timeout=0: machine.dkim_record)
