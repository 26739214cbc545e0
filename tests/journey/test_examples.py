"""Run the programs under ``examples/`` against the running service."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.journey.programs import needs_curl, needs_node
from tests.journey.service import KEY, ROOT, Service, eventually

EXAMPLES = ROOT / "examples"


def run(service: Service, *command: str, **environment: str) -> str:
    """Run a program of the examples with the service's address and key; return its output."""
    process = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ
        | {
            "POSTFINCH_URL": f"http://localhost:{service.api_port}",
            "POSTFINCH_SMTP_PORT": str(service.smtp_port),
            "API_KEY": KEY,
        }
        | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_the_python_example_sends_and_shows_a_delivery_and_a_bounce(service: Service) -> None:
    output = run(service, sys.executable, str(EXAMPLES / "python" / "send.py"))
    assert "accepted: 2" in output
    assert "delivery ann+" in output
    assert "bounce bounce-hard+" in output


def test_the_smtp_example_sends_with_a_campaign(service: Service) -> None:
    output = run(service, sys.executable, str(EXAMPLES / "python" / "send_by_smtp.py"))
    assert "accepted" in output
    events = eventually(lambda: service.events(campaigns="smtp-example"))
    assert events[0]["rcpt_to"] == "ann@inbox.test"
    assert events[0]["rcpt_meta"] == {"order": 7}


@needs_curl
def test_the_curl_example_shows_the_message_and_its_events(service: Service) -> None:
    output = run(service, "sh", str(EXAMPLES / "curl" / "first_message.sh"))
    assert '"subject": "Hello Ann"' in output or '"subject":"Hello Ann"' in output
    assert "total_count" in output


@needs_node
def test_the_node_example_sends_a_template(service: Service) -> None:
    output = run(service, "node", str(EXAMPLES / "node" / "send.mjs"))
    assert "delivered: ann@inbox.test Your order 7" in output


@needs_node
def test_the_webhook_example_verifies_a_batch(service: Service) -> None:
    output = run(service, "node", str(EXAMPLES / "node" / "receive_webhooks.mjs"))
    assert "verified a batch of" in output


def test_the_django_settings_send_mail(service: Service) -> None:
    program = (
        "import django, sys; sys.path.insert(0, 'examples/django'); django.setup();"
        "from django.core.mail import EmailMessage;"
        "print(EmailMessage('Hello from Django', 'Hello', to=['ann+django@inbox.test'],"
        " headers={'X-SVC-API': '{\"campaign_id\": \"django\"}'}).send())"
    )
    output = run(
        service,
        sys.executable,
        "-c",
        program,
        DJANGO_SETTINGS_MODULE="settings",
        SSL_CERT_FILE=str(service.data_dir / "tls" / "authority.pem"),
    )
    assert output.strip() == "1"
    assert eventually(lambda: service.mailbox(to="ann+django@inbox.test"))


def test_the_tests_of_other_programs_pass() -> None:
    folder = EXAMPLES / "pytest"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "postfinch.pytest_plugin"]
    options = ["-p", "no:cacheprovider", "-p", "no:django", "-c", os.devnull]
    setting = "postfinch_settings=LINK_CHECK_PRIVATE=true"
    done = subprocess.run(
        [*command, *options, "-o", setting, str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9 passed" in done.stdout
