"""Use the command `postfinch` with a running service, as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.http_target import Target, serving
from tests.journey.service import KEY, ROOT, Service, eventually

EVENTS = ["injection", "delivery", "bounce"]


def start(service: Service, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "postfinch", *map(str, arguments)],
        cwd=ROOT,
        env={
            **os.environ,
            "POSTFINCH_URL": f"http://127.0.0.1:{service.api_port}",
            "POSTFINCH_API_KEY": KEY,
            "DATA_DIR": str(service.data_dir),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(service: Service, *arguments: object, code: int = 0) -> str:
    process = start(service, *arguments)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == code, output + errors
    return output + errors


def test_a_service_is_found_by_a_command_that_is_not_told_where_it_is(service: Service) -> None:
    hidden = ("DATA_DIR", "POSTFINCH_URL", "POSTFINCH_API_KEY", "POSTFINCH_PROFILE")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["XDG_STATE_HOME"] = str(service.data_dir)
    command = [sys.executable, "-m", "postfinch", "mail", "list"]
    service.send("found@inbox.test")
    service.arrived("found@inbox.test")
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "found@inbox.test" in process.stdout, process.stderr


def test_templates_of_a_folder_are_pushed_and_used(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "templates" / "command-hello"
    folder.mkdir(parents=True)
    (folder / "template.json").write_text('{"from": "me@example.test", "subject": "{{end}}"}')
    (folder / "content.txt").write_text("Hello {{name}}")
    output = call(service, "templates", "push", tmp_path / "templates", code=1)
    assert f"{folder}/template.json:1: " in output
    (folder / "template.json").write_text('{"from": "me@example.test", "subject": "Hi"}')
    call(service, "templates", "push", tmp_path / "templates", "--publish")
    arguments = ("--data", '{"name": "Ann"}', "--text")
    assert call(service, "templates", "render", "command-hello", *arguments) == "Hello Ann\n"
    body = {
        "recipients": [{"address": "command-hello@inbox.test"}],
        "content": {"template_id": "command-hello"},
        "substitution_data": {"name": "Ann"},
    }
    assert service.request("POST", "/api/v1/transmissions", body).status == 200
    assert b"Hello Ann" in service.arrived("command-hello@inbox.test")[0]


def test_a_domain_is_added_and_checked(service: Service) -> None:
    name = "command.journey-shop.test"
    assert "v=DKIM1" in call(service, "domains", "add", name)
    assert "dkim: valid" in call(service, "domains", "check", name, "--wait", "--timeout", "60")
    call(service, "domains", "remove", name, "--yes")


def test_events_are_forwarded_as_a_webhook_posts_them(service: Service) -> None:
    with serving() as hook, serving() as forward:
        body = {"name": "Ours", "target": hook.url, "events": EVENTS}
        webhook_id = service.request("POST", "/api/v1/webhooks", body).json["results"]["id"]
        options = ("--forward", forward.url, "--events", ",".join(EVENTS), "--interval", "0.2")
        process = start(service, "webhooks", "listen", *options)
        try:
            assert process.stderr
            assert process.stderr.readline().startswith("events of ")
            recipients = [f"command-{n}@inbox.test" for n in range(5)]
            service.send(*recipients)
            eventually(lambda: len(own_events(forward)) == len(own_events(hook)) == 10)
            assert own_events(forward) == own_events(hook)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            service.request("DELETE", f"/api/v1/webhooks/{webhook_id}")
        assert process.returncode == 130


def own_events(target: Target) -> dict[str, Any]:
    """Return the events of this test by id; others use the service as well."""
    return {
        event["event_id"]: event
        for post in target.batches()
        for event in post.events()
        if event["rcpt_to"].startswith("command-")
        and event["rcpt_to"] != "command-hello@inbox.test"
    }


def test_the_operator_manages_the_service_of_this_machine(service: Service) -> None:
    assert "\n1\tactive\tstandard\t" in call(service, "admin", "--local", "list-accounts")
