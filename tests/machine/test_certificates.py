"""Get certificates from an authority while the service runs, and use them at every port."""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from tests.certificates.conftest import require_pebble
from tests.certificates.pebble import run_pebble
from tests.journey.service import eventually
from tests.machine.machine import DOMAIN, KEY, Machine
from tests.machine.outside import Outside

LINKS = "links.acme.example"


def test_certificates_come_by_themselves_for_every_port_and_tracking_domain(
    tmp_path: Path, place: Outside
) -> None:
    require_pebble()
    machine = Machine(tmp_path, **place.environment(), TLS="acme")
    with run_pebble(tmp_path / "pebble", machine.ports["HTTP_PORT"]) as authority:
        trust = authority.root()
        machine.start(
            ACME_DIRECTORY=authority.directory,
            ACME_CA=str(authority.ca_file),
            PUBLIC_URL=f"https://{DOMAIN}",
        )
        try:
            eventually(lambda: _is_trusted(machine, DOMAIN, trust))
            _assert_mail_ports_have_it(machine, trust)
            # Without TLS there is no API, and no key is asked for
            assert machine.request("GET", "/api/v1/account").status == 308
            assert machine.request("POST", "/api/v1/transmissions", {}).status == 403
            _add_tracking_domain(machine, place, trust)
            eventually(lambda: _is_trusted(machine, LINKS, trust))
            link = _tracked_link(machine, place, trust)
            assert link.startswith(f"https://{LINKS}/t/c/")
            path = link.removeprefix(f"https://{LINKS}")
            response = _call(machine, trust, "GET", path, host=LINKS)
            assert (response.status, response.headers["location"]) == (302, "https://shop.example/")
        finally:
            machine.stop()


def _call(machine: Machine, trust: ssl.SSLContext, method: str, path: str, **options: Any) -> Any:
    """Make a request under TLS, with the name of the certificate checked."""
    host = options.get("host", DOMAIN)

    class Context(ssl.SSLContext):
        def wrap_socket(self, *args: Any, **kwargs: Any) -> Any:
            return trust.wrap_socket(*args, **{**kwargs, "server_hostname": host})

    return machine.request(method, path, tls=Context(ssl.PROTOCOL_TLS_CLIENT), **options)


def _is_trusted(machine: Machine, name: str, trust: ssl.SSLContext) -> bool:
    address = ("127.0.0.1", machine.ports["HTTPS_PORT"])
    try:
        with trust.wrap_socket(socket.create_connection(address, 60), server_hostname=name):
            return True
    except ssl.SSLCertVerificationError:
        time.sleep(0.2)
        return False


def _assert_mail_ports_have_it(machine: Machine, trust: ssl.SSLContext) -> None:
    for name in ("SUBMISSION_PORT", "INBOUND_PORT"):
        with smtplib.SMTP("127.0.0.1", machine.ports[name], timeout=60) as relay:
            relay._host = DOMAIN  # type: ignore[attr-defined]
            relay.starttls(context=trust)
    address = ("127.0.0.1", machine.ports["SUBMISSIONS_PORT"])
    with trust.wrap_socket(socket.create_connection(address, 60), server_hostname=DOMAIN):
        pass


def _add_tracking_domain(machine: Machine, place: Outside, trust: ssl.SSLContext) -> None:
    def api(method: str, path: str, body: Any) -> Any:
        response = _call(machine, trust, method, f"/api/v1{path}", body=body)
        assert response.status == 200, response.body
        return response.json["results"]

    api("POST", "/tracking-domains", {"domain": LINKS, "secure": True})
    place.zone.published[LINKS] = [("CNAME", f"track.{DOMAIN}")]
    assert api("POST", f"/tracking-domains/{LINKS}/verify", {})["verified"]
    dkim = api("POST", "/sending-domains", {"domain": "acme.example", "tracking_domain": LINKS})
    record = f"v=DKIM1; k=rsa; p={dkim['dkim']['public']}"
    place.zone.published[f"{dkim['dkim']['selector']}._domainkey.acme.example"] = [("TXT", record)]
    api("POST", "/sending-domains/acme.example/verify", {"dkim_verify": True})


def _tracked_link(machine: Machine, place: Outside, trust: ssl.SSLContext) -> str:
    recipient = f"link-{time.monotonic_ns()}@reader.example"
    content = {
        "from": "hello@acme.example",
        "subject": "A link",
        "html": '<a href="https://shop.example/">Shop</a>',
    }
    body = {"recipients": [{"address": recipient}], "content": content}
    response = _call(machine, trust, "POST", "/api/v1/transmissions", body=body, key=KEY)
    assert response.status == 200, response.body
    (message,) = eventually(lambda: place.messages(recipient))
    text = message.get_payload(decode=True).decode()
    match = re.search(r'href="(https://[^"]+)"', text)
    assert match, text
    return match[1]


@pytest.fixture(autouse=True)
def _published_names_are_forgotten(place: Outside) -> Any:
    before = dict(place.zone.published)
    yield
    place.zone.published.clear()
    place.zone.published.update(before)
