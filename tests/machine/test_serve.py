"""Use production on one machine as its users and its administrator do."""

from __future__ import annotations

import smtplib
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.free_ports import free_port
from tests.journey.service import ROOT, eventually
from tests.machine.machine import DOMAIN, KEY, TOKEN, Machine
from tests.machine.outside import Outside


def test_mail_leaves_for_the_hosts_of_its_recipients_and_is_reported(
    machine: Machine, place: Outside
) -> None:
    machine.send("ann@reader.example")
    (message,) = eventually(lambda: place.messages("ann@reader.example"))
    assert message["Subject"] == "Hello"
    assert message["DKIM-Signature"]
    eventually(lambda: machine.events("ann@reader.example") == ["injection", "delivery"])


def test_mail_by_smtp_needs_tls_and_the_key(machine: Machine, place: Outside) -> None:
    context = ssl.create_default_context(
        cafile=str(machine.data_dir / "tls/service/certificate.pem")
    )
    context.check_hostname = False
    with smtplib.SMTP("127.0.0.1", machine.ports["SUBMISSION_PORT"], timeout=60) as relay:
        relay.ehlo()
        assert not relay.has_extn("auth")
        relay.starttls(context=context)
        relay.login("SMTP_Injection", KEY)
        text = (
            "From: hello@acme.example\r\nTo: bea@reader.example\r\nSubject: By SMTP\r\n\r\nHi\r\n"
        )
        relay.sendmail("hello@acme.example", ["bea@reader.example"], text)
    assert eventually(lambda: place.messages("bea@reader.example"))
    port = machine.ports["SUBMISSIONS_PORT"]
    with smtplib.SMTP_SSL("127.0.0.1", port, timeout=60, context=context) as relay:
        relay.login("SMTP_Injection", KEY)


def test_the_inbound_port_is_no_open_relay(machine: Machine) -> None:
    with smtplib.SMTP("127.0.0.1", machine.ports["INBOUND_PORT"], timeout=60) as relay:
        relay.ehlo()
        assert not relay.has_extn("auth")
        relay.mail("someone@elsewhere.example")
        assert relay.rcpt("victim@reader.example")[0] == 550
        assert relay.rcpt(f"unknown@{DOMAIN}")[0] == 550


def test_mail_for_an_inbound_domain_comes_in_by_the_same_port(machine: Machine) -> None:
    domain = machine.results("POST", "/inbound-domains", {"domain": "in.acme.example"})
    assert domain["dns_records"][0]["value"] == f"10 {DOMAIN}"
    text = "From: ann@reader.example\r\nSubject: A question\r\n\r\nWhere is it?\r\n"
    with smtplib.SMTP("127.0.0.1", machine.ports["INBOUND_PORT"], timeout=60) as relay:
        relay.sendmail("ann@reader.example", ["help+7@in.acme.example"], text)
    query = "/inbound-messages?recipient=help%2B7@in.acme.example"
    (message,) = eventually(lambda: machine.results("GET", query))
    assert (message["subject"], message["tag"], message["action"]) == ("A question", "7", "store")
    raw = machine.request("GET", f"/api/v1/inbound-messages/{message['id']}/raw").body
    assert f"by {DOMAIN} with ESMTP".encode() in raw


def test_nothing_of_the_local_runtime_is_there(machine: Machine) -> None:
    for path in ("/local", "/local/mailbox", "/local/dns", "/local/failures", "/local/metrics"):
        assert machine.request("GET", path).status == 404
    assert machine.request("GET", "/console/service.json").json["stage"] == "machine"
    domains = machine.results("GET", "/sending-domains")
    assert [domain["domain"] for domain in domains] == ["acme.example"]


def test_the_settings_are_those_of_a_stage(machine: Machine) -> None:
    """The cancellation margin is that of AWS, and an events search ends a minute ago."""
    machine.send("lag@reader.example")
    query = "/events/message?recipients=lag@reader.example"
    eventually(lambda: "delivery" in machine.events("lag@reader.example"))
    assert machine.results("GET", query) == []


def test_health_and_metrics_are_there_for_who_may_see_them(machine: Machine) -> None:
    assert machine.request("GET", "/health", key=None).json == {
        "status": "ok",
        "parts": {"storage": "ok", "smtp": "ok"},
    }
    eventually(lambda: machine.request("GET", "/ready", key=None).status == 200)
    assert machine.request("GET", "/metrics", key=None).status == 401
    assert machine.request("GET", "/metrics", key=f"Bearer {TOKEN}x").status == 401
    text = machine.request("GET", "/metrics", key=f"Bearer {TOKEN}").body.decode()
    for figure in (
        "postfinch_requests_total",
        'postfinch_queue_messages{queue="small-deliveries"}',
        'postfinch_dead_letters{queue="events"}',
        "postfinch_relay_messages_accepted_total",
        'postfinch_process_bytes{process="delivery"}',
        'postfinch_disk_bytes{state="free"}',
    ):
        assert figure in text


def test_a_key_that_was_set_is_not_shown_and_every_line_is_json(machine: Machine) -> None:
    lines = machine.lines()
    (ready,) = [line for line in lines if line["message"] == "Postfinch is ready"]
    assert "api_key" not in ready
    assert KEY not in machine.output.read_text()


def test_killed_processes_lose_nothing(machine: Machine, place: Outside) -> None:
    recipients: list[str] = []
    for round_number, name in enumerate(("delivery", "worker-1", "relay", "edge", "store")):
        for number in range(5):
            recipients.append(f"kill-{round_number}-{number}@reader.example")
            machine.send(recipients[-1])
        for process in machine.running(name):
            process.kill()
        eventually(lambda: _answers(machine))
    for recipient in recipients:
        assert eventually(lambda each=recipient: place.messages(each))
    counts = place.counts()
    assert sum(counts[recipient] - 1 for recipient in recipients) <= 5


def _answers(machine: Machine) -> bool:
    try:
        return machine.request("GET", "/health", key=None).status == 200
    except OSError:
        return False


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({"SYSTEM_DOMAIN": ""}, "SYSTEM_DOMAIN"),
        ({"TLS": "none"}, "TLS='none'"),
        ({"TLS": "files"}, "TLS_CERTIFICATE"),
        ({"SMARTHOST_TLS": "none"}, "SMARTHOST_TLS='none'"),
        ({"TRUSTED_PROXIES": "proxy"}, "TRUSTED_PROXIES='proxy'"),
        ({"SUBMISSION_PORT": "HTTP"}, "SUBMISSION_PORT"),
        ({"POSTFINCH_CONFIG": "/nonexistent/postfinch.toml"}, "/nonexistent/postfinch.toml"),
    ],
)
def test_a_setting_that_cannot_work_ends_the_start_with_one_line(
    tmp_path: Path, environment: dict[str, str], text: str
) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "postfinch", "serve"],
        cwd=ROOT,
        env=Machine(tmp_path).environment(**environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 2
    assert process.stdout == ""
    (line,) = process.stderr.splitlines()
    assert text in line


def test_the_configuration_file_counts_where_the_environment_says_nothing(
    tmp_path: Path, place: Outside
) -> None:
    file = tmp_path / "postfinch.toml"
    other = free_port()
    file.write_text(f'system_domain = "file.acme.example"\nhttp_port = {other}\nconsole = false\n')
    machine = Machine(tmp_path, **place.environment(), POSTFINCH_CONFIG=str(file))
    machine.start()
    try:
        assert machine.request("GET", "/console/").status == 404
        assert machine.request("GET", "/health").status == 200
        (ready,) = [line for line in machine.lines() if line["message"] == "Postfinch is ready"]
        assert ready["api"] == f"http://{DOMAIN}:{machine.ports['HTTP_PORT']}/api/v1"
    finally:
        machine.stop()
