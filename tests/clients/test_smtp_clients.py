"""Send by SMTP with programs and libraries of others: with STARTTLS, and under TLS at once."""

from __future__ import annotations

import email
import email.policy
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients.programs import HERE, Ports, require_library, run, smtp_environment
from tests.journey.service import Service, eventually


class SmtpClient(NamedTuple):
    """How to run a client, what shows that it is installed, and its Debian packages."""

    command: tuple[str, ...]
    check: tuple[str, ...]
    packages: str


_SWAKS = SmtpClient(
    ("sh", "swaks/send.sh"),
    ("sh", "-c", "swaks --support | grep 'TLS supported'"),
    "swaks libnet-ssleay-perl",
)
CLIENTS = {
    "swaks": _SWAKS,
    "msmtp": SmtpClient(("sh", "msmtp/send.sh"), ("msmtp", "--version"), "msmtp"),
    "phpmailer": SmtpClient(
        ("php", "phpmailer/send.php"),
        ("php", "-r", "require 'libphp-phpmailer/autoload.php';"),
        "php-cli libphp-phpmailer",
    ),
    "symfony_mailer": SmtpClient(
        ("php", "symfony_mailer/send.php"),
        ("php", "-r", "require 'Symfony/Component/Mailer/autoload.php';"),
        "php-cli php-symfony-mailer",
    ),
    "email_sender": SmtpClient(
        ("perl", "email_sender/send.pl"),
        ("perl", "-e", "use Email::Sender::Simple; use Authen::SASL; use IO::Socket::SSL;"),
        "libemail-sender-perl libauthen-sasl-perl libio-socket-ssl-perl",
    ),
    "ruby_mail": SmtpClient(
        ("ruby", "ruby_mail/send.rb"), ("ruby", "-e", "require 'mail'"), "ruby ruby-mail"
    ),
    "curl": SmtpClient(("sh", "curl/send.sh"), ("curl", "--version"), "curl"),
    "git_send_email": SmtpClient(
        ("sh", "git_send_email/send.sh"),
        ("perl", "-e", "-x '/usr/lib/git-core/git-send-email' or die; use IO::Socket::SSL;"),
        "git-email libio-socket-ssl-perl libauthen-sasl-perl",
    ),
    "aiosmtplib": SmtpClient(
        (sys.executable, "aiosmtplib/send.py"), (sys.executable, "--version"), "python3"
    ),
    "nodemailer": SmtpClient(("node", "nodemailer.mjs"), ("node", "--version"), "nodejs"),
}
every_client = pytest.mark.parametrize("name", CLIENTS)


def folder_of(name: str, request: pytest.FixtureRequest) -> Path:
    """Return the folder to run a client in; skip the test if the client is missing."""
    client = CLIENTS[name]
    require_library(*client.check, package=client.packages)
    if name == "nodemailer":
        return request.getfixturevalue("node_programs")
    return HERE


def read(raw: bytes) -> EmailMessage:
    return email.message_from_bytes(raw, policy=email.policy.default)  # type: ignore[return-value]


def check_message(raw: bytes, to: str) -> None:
    """Check the message that every client sends."""
    message = read(raw)
    assert (message["Subject"], message["To"]) == ("Grüße", to)
    assert message["From"] == "Ann <ann@example.test>"
    body = message.get_body(("plain",))
    assert body is not None
    assert str(body.get_content()).startswith("Hello from ")
    (attachment,) = [part for part in message.walk() if part.get_filename()]
    content = attachment.get_content()
    text = content if isinstance(content, str) else content.decode()
    assert (attachment.get_filename(), text.strip()) == ("notes.txt", "kept")
    assert message["X-SVC-API"] is None
    assert message["DKIM-Signature"]


@every_client
@pytest.mark.parametrize("tls", ["starttls", "implicit"])
def test_a_client_sends_a_message_with_an_attachment(
    service: Service, ports: Ports, request: pytest.FixtureRequest, name: str, tls: str
) -> None:
    folder = folder_of(name, request)
    to = f"{name}+{tls}@inbox.test"
    env = smtp_environment(ports, tls, FROM="ann@example.test", TO=to)
    process = run(*CLIENTS[name].command, env=env, folder=folder)
    assert process.returncode == 0, process.stdout + process.stderr
    (raw,) = service.arrived(to)
    check_message(raw, to)
    eventually(lambda: service.event_types(to) == ["injection", "delivery"])
    for event in service.events(recipients=to):
        assert (event["recv_method"], event["campaign_id"]) == ("esmtp", "clients")


@every_client
def test_a_client_reports_why_a_message_is_refused(
    service: Service, ports: Ports, request: pytest.FixtureRequest, name: str
) -> None:
    folder = folder_of(name, request)
    to = f"{name}+refused@inbox.test"
    env = smtp_environment(ports, "starttls", FROM="ann@elsewhere.test", TO=to)
    process = run(*CLIENTS[name].command, env=env, folder=folder)
    assert process.returncode != 0
    assert "Unconfigured Sending Domain <elsewhere.test>" in process.stdout + process.stderr
    assert service.mailbox(to=to) == []
