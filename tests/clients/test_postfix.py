"""Let a Postfix of this machine hand its mail to the relay, as the smarthost of its programs."""

from __future__ import annotations

import os
import pwd
import shutil
import smtplib
import subprocess
import tempfile
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.clients.programs import HERE, Ports, require
from tests.clients.test_smtp_clients import read
from tests.free_ports import free_port
from tests.journey.service import KEY, Service, eventually

_SETTINGS = """
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
queue_directory = {folder}/queue
data_directory = {folder}/data
relayhost = [localhost]:{starttls}
transport_maps = inline:{{implicit.test=smtps:[localhost]:{implicit}}}
smtp_tls_CAfile = {authority}
smtp_sasl_password_maps = static:SMTP_Injection:{key}
"""


@pytest.fixture(scope="module")
def postfix(ports: Ports) -> Iterator[smtplib.SMTP]:
    """A connection to a Postfix with an own configuration, queue and port."""
    require("postfix", "postfix libsasl2-modules")
    if os.geteuid():
        pytest.skip("Postfix starts only as root")
    with tempfile.TemporaryDirectory() as path:
        folder, port = Path(path), free_port()
        folder.chmod(0o755)  # its processes run as the user postfix
        _configure(folder, port, ports)
        control = ("postfix", "-c", str(folder / "etc"))
        subprocess.run([*control, "start"], check=True, capture_output=True)
        try:
            with smtplib.SMTP("127.0.0.1", port, timeout=60) as connection:
                yield connection
        finally:
            subprocess.run([*control, "stop"], check=True, capture_output=True)


def _configure(folder: Path, port: int, ports: Ports) -> None:
    for name in ("etc", "queue", "data"):
        (folder / name).mkdir()
    os.chown(folder / "data", pwd.getpwnam("postfix").pw_uid, -1)
    shutil.copy(ports.authority, folder / "authority.pem")  # that user cannot read the other
    settings = _SETTINGS.format(
        folder=folder,
        starttls=ports.smtp,
        implicit=ports.smtp_tls,
        authority=folder / "authority.pem",
        key=KEY,
    )
    main, services = (HERE / "postfix" / name for name in ("main.cf", "master.cf"))
    (folder / "etc" / "main.cf").write_text(main.read_text() + settings)
    (folder / "etc" / "master.cf").write_text(services.read_text().replace("{port}", str(port)))
    (folder / "etc" / "dynamicmaps.cf").touch()


def message(to: str, text: str = "Hello", sender: str = "ann@example.test") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, to, "Grüße"
    mail["X-SVC-API"] = '{"campaign_id": "clients"}'
    mail.set_content(text)
    return mail


@pytest.mark.parametrize("to", ["postfix@inbox.test", "postfix@implicit.test"])
def test_postfix_relays_with_a_login_under_verified_tls(
    service: Service, postfix: smtplib.SMTP, to: str
) -> None:
    line = "ä" * 60
    text = f"{line}\n.\n" * 5000
    postfix.send_message(message(to, text))
    (raw,) = service.arrived(to)
    assert read(raw)["Subject"] == "Grüße"
    assert read(raw).get_content().replace("\r\n", "\n") == text
    eventually(lambda: service.event_types(to) == ["injection", "delivery"])
    for event in service.events(recipients=to):
        assert (event["recv_method"], event["campaign_id"]) == ("esmtp", "clients")


def test_postfix_reports_to_the_sender_what_the_relay_refuses(
    service: Service, postfix: smtplib.SMTP
) -> None:
    postfix.send_message(message("ben@inbox.test", sender="zoe@elsewhere.test"))
    (raw,) = service.arrived("zoe@elsewhere.test")
    assert read(raw)["From"].addresses[0].addr_spec == "MAILER-DAEMON@example.test"
    assert b"550 5.7.1 Unconfigured Sending Domain <elsewhere.test>" in raw.replace(b"\r\n   ", b"")
