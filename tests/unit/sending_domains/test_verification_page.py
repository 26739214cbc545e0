"""The page behind the link in a verification mail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core import clock, system_mailer
from chalicelib.core.settings import settings
from chalicelib.sending_domains import store
from chalicelib.sending_domains.mailboxes import read_token, redeem, send_token
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.sending_domains.routes import confirm_verification, offer_verification
from tests.unit.sending_domains.conftest import Outbox
from tests.unit.sending_domains.examples import domain
from tests.unit.sending_domains.requests import request
from tests.unit.strict_headers import check_strict_headers

pytestmark = pytest.mark.usefixtures("cloud")

NAME = "mail.example.test"
NOW = 1_769_850_000.0


@pytest.fixture
def token(outbox: Outbox) -> str:
    store.create(domain(status=DomainStatus(), dkim=None))
    with clock.use(lambda: NOW):
        send_token(NAME, "verification_mailbox", local_part="o'brien")
    return outbox.mails[0].token


def load() -> SendingDomain:
    sending_domain = store.get(NAME)
    assert sending_domain is not None
    return sending_domain


def open_page(token: str, at: float = NOW) -> tuple[int, str]:
    with clock.use(lambda: at):
        reply = offer_verification(request(), token)
    return reply.status, reply.body.decode()


def press_button(token: str, at: float = NOW) -> tuple[int, str]:
    with clock.use(lambda: at):
        reply = confirm_verification(request(), token)
    return reply.status, reply.body.decode()


def test_opening_the_page_shows_a_button_and_verifies_nothing(token: str) -> None:
    for _ in range(2):
        status, page = open_page(token)
        assert status == 200
        assert '<form method="post"><button' in page
        assert "o&#x27;brien@mail.example.test" in page
    assert not load().status.ownership_verified


@pytest.mark.spec("3-t12")
def test_the_button_verifies_once(token: str) -> None:
    assert press_button(token)[0] == 200
    assert load().status.verification_mailbox_status == "valid"
    assert load().may_send
    assert press_button(token)[0] == 410
    assert open_page(token)[0] == 410


def test_a_token_of_an_earlier_version_is_for_the_mailbox_that_the_domain_names(
    token: str,
) -> None:
    before = load()
    tokens = {kind: replace(mailed, local_part="") for kind, mailed in before.tokens.items()}
    store.save(before, replace(before, tokens=tokens))
    assert "o&#x27;brien@mail.example.test" in open_page(token)[1]
    assert press_button(token)[0] == 200
    assert load().status.verification_mailbox == "o'brien"


def test_an_expired_link_and_a_forged_link_do_not_work(token: str) -> None:
    late = NOW + settings().mailbox_token_lifetime
    assert open_page(token, late)[0] == press_button(token, late)[0] == 410
    for wrong in ("nonsense", token + "A", "", "<script>"):
        assert open_page(wrong)[0] == press_button(wrong)[0] == 410
        assert "<script>" not in open_page(wrong)[1]
    assert not load().status.ownership_verified


def test_the_link_of_a_deleted_domain_does_not_work_for_its_next_owner(token: str) -> None:
    store.delete(load())
    assert open_page(token)[0] == press_button(token)[0] == 410
    store.create(domain(account=2, status=DomainStatus(), dkim=None))
    assert open_page(token)[0] == press_button(token)[0] == 410


def test_the_page_is_not_cached_and_sends_no_referrer(token: str) -> None:
    reply = offer_verification(request(), token).to_gateway("-")
    headers = reply["headers"]
    assert headers["Cache-Control"] == "no-store"
    assert check_strict_headers(reply)["form-action"] == "'self'"
    assert headers["Content-Type"].startswith("text/html")


def test_only_a_signed_token_gives_a_domain_and_mailbox(token: str) -> None:
    assert read_token(token) == (NAME, "verification_mailbox")
    for text in ("", "é", token[:-2], token + "AA", "A" * 5000):
        assert read_token(text) is None


def test_no_token_is_mailed_for_an_unknown_domain(outbox: Outbox) -> None:
    send_token("unknown.test", "abuse_at")
    assert outbox.mails == []
    assert not redeem("unknown.test", "abuse_at", "token")


def test_a_process_without_a_mailer_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    store.create(domain(status=DomainStatus(), dkim=None))
    monkeypatch.setattr(system_mailer, "_mailers", [])
    with pytest.raises(RuntimeError, match="set_mailer"):
        send_token(NAME, "abuse_at")
