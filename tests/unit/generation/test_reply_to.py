"""Each message of a transmission with a reply domain has a Reply-To that names it."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.addresses import Mailbox
from chalicelib.core.caches import clear_caches
from chalicelib.core.scope import Scope
from chalicelib.generation.reply_to import name_of
from chalicelib.inbound_domains import reply_address
from chalicelib.inbound_domains import store as inbound_domains
from tests.unit.generation.examples import INJECTED, generator, make_sender
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.transmissions.examples import OPTIONS, body

pytestmark = pytest.mark.usefixtures("cloud")

DOMAIN = "replies.example.test"
FROM = {"email": "a@mail.example.test", "name": "Ann {{n}}"}


def message(index: int = 0, domain: str = DOMAIN, **fields: Any) -> EmailMessage:
    options = OPTIONS | {"reply_domain": domain}
    with clock.use(lambda: INJECTED / 1000):
        recipient = {"email": "r@example.test", "substitution_data": {"n": "Lee"}}
        finished = generator(options=options, **fields).generate(index, recipient)
    return email.message_from_bytes(finished.data, policy=email.policy.default)


def inline(**fields: Any) -> dict[str, Any]:
    return {"content": body()["content"] | {"from": FROM} | fields}


def prebuilt(*lines: str) -> dict[str, Any]:
    head = "\r\n".join(["From: Ann {{n}} <a@mail.example.test>", *lines])
    return {"content": {}, "raw": f"{head}\r\n\r\nHi\r\n".encode(), "substitute": True}


@pytest.fixture
def _sender(cloud: None) -> None:
    make_sender()
    store_inbound_domain(DOMAIN)


@pytest.mark.usefixtures("_sender")
class TestWithDomain:
    @pytest.mark.parametrize("content", [inline(), prebuilt()])
    def test_the_address_names_its_message(self, content: dict[str, Any]) -> None:
        for index in (0, 7):
            (mailbox,) = message(index, **content)["Reply-To"].addresses
            assert mailbox.domain == DOMAIN
            with clock.use(lambda: INJECTED / 1000):
                message_id = reply_address.message_of(mailbox.username)
            assert message_id == f"{191930000000000001:016x}{index:08x}"

    @pytest.mark.parametrize(
        ("content", "name"),
        [
            (inline(), "Ann Lee"),
            (inline(reply_to="Support <help@x.test>"), "Support"),
            (inline(reply_to="help@x.test"), "Ann Lee"),
            (inline(reply_to='a@x.test, "Désk, Help" <b@x.test>'), "Désk, Help"),
            (inline(**{"from": "a@mail.example.test"}), ""),
            (prebuilt(), "Ann Lee"),
            (prebuilt("Reply-To: Support <help@x.test>"), "Support"),
            (prebuilt("Reply-To: help@x.test"), "Ann Lee"),
        ],
    )
    def test_it_replaces_the_reply_to_of_the_content_but_for_its_name(
        self, content: dict[str, Any], name: str
    ) -> None:
        (field,) = message(**content).get_all("Reply-To", [])
        (mailbox,) = field.addresses
        assert (mailbox.display_name, mailbox.domain) == (name, DOMAIN)

    @pytest.mark.parametrize("content", [inline(), prebuilt()])
    def test_the_name_of_an_override_counts(self, content: dict[str, Any]) -> None:
        override = {"reply_to": "Desk <desk@x.test>"}
        (mailbox,) = message(**content, override=override)["Reply-To"].addresses
        assert (mailbox.display_name, mailbox.domain) == ("Desk", DOMAIN)

    def test_lines_are_folded_and_readable(self) -> None:
        options = OPTIONS | {"reply_domain": DOMAIN}
        name = {"email": "a@mail.example.test", "name": "é" * 60}
        finished = generator(options=options, **inline(**{"from": name})).generate(
            0, {"email": "r@example.test"}
        )
        assert max(map(len, finished.data.partition(b"\r\n\r\n")[0].split(b"\r\n"))) <= 998

    def test_the_reply_to_of_the_content_counts_once_the_domain_is_gone(self) -> None:
        inbound_domains.delete(Scope(1, None), DOMAIN)
        clear_caches()
        field = message(**inline(reply_to="Support <help@x.test>"))["Reply-To"]
        assert [each.addr_spec for each in field.addresses] == ["help@x.test"]
        assert message(**inline())["Reply-To"] is None


def test_a_domain_of_somebody_else_makes_no_address() -> None:
    make_sender()
    store_inbound_domain("theirs.test", 2)
    store_inbound_domain("subaccount.test", subaccount_id=7)
    for domain in ("theirs.test", "subaccount.test", "none.test"):
        assert message(domain=domain, **inline())["Reply-To"] is None


def test_the_name_is_that_of_the_first_mailbox_with_one() -> None:
    sender = Mailbox("a@b.test", "Ann")
    assert name_of("", sender) == name_of("nonsense", sender) == "Ann"
    assert name_of("x@y.test, Desk <d@y.test>, Other <o@y.test>", sender) == "Desk"
