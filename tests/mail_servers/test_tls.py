"""STARTTLS with real servers: each kind of certificate under each mode of TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.core.tls_results import (
    EXPIRED,
    HOST_MISMATCH,
    NO_POLICY,
    NO_STARTTLS,
    NOT_TRUSTED,
    STS,
    SUCCESS,
)
from chalicelib.delivery.mta_sts.policy import Mode, Policy
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry
from chalicelib.delivery.tls_reports.session_result import SessionResult
from chalicelib.delivery.transports import OutboundMessage, commit_at_once
from chalicelib.delivery.transports.smtp_opening import SessionOptions, TlsMode, tls_context
from tests.mail_servers.delivery import TIMEOUTS, mx, smarthost
from tests.mail_servers.mailbox import message
from tests.mail_servers.others import Server
from tests.mail_servers.postfix import Postfix
from tests.mail_servers.test_contents import assert_stored

ENFORCED = Policy(Mode.ENFORCE, ("localhost",), 60)
TESTED = Policy(Mode.TESTING, ("localhost",), 60)
VERIFIED = SessionOptions(tls=TlsMode.REQUIRED, verify=True, timeouts=TIMEOUTS)
_CERTIFICATES = ["TLS", "TLS required", "TLS self-signed", "TLS expired", "TLS wrong host"]


@pytest.fixture
def _trust(postfix_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trust the authority of the tests and no other."""
    monkeypatch.setenv("SSL_CERT_FILE", str(postfix_folder / "etc" / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(postfix_folder))
    tls_context.cache_clear()
    yield
    tls_context.cache_clear()


def _assert_waits(
    postfix: Postfix, original: OutboundMessage, outcome: Outcome, reason: str
) -> None:
    assert isinstance(outcome, Retry)
    assert (outcome.code, outcome.bounce_class) == (454, 20)
    assert reason in outcome.reply
    assert postfix.mailbox.copies(original) == []


@pytest.mark.parametrize("port", [*_CERTIFICATES, "TLS 1.3 only"])
def test_the_mx_transport_encrypts_whatever_the_certificate(postfix: Postfix, port: str) -> None:
    original = message()
    with mx(postfix.ports[port]) as transport:
        outcome = transport.deliver(original, commit_at_once)
    assert isinstance(outcome, Delivered)
    assert (outcome.tls, outcome.tls_policy) == ("TLSv1.3", None)
    assert_stored(postfix.mailbox, original)


def test_the_mx_transport_encrypts_to_a_server_with_gnutls(exim: Server) -> None:
    original = message()
    with mx(exim.ports["tls"]) as transport:
        outcome = transport.deliver(original, commit_at_once)
    assert isinstance(outcome, Delivered)
    assert outcome.tls == "TLSv1.3"
    assert_stored(exim.mailbox, original)


@pytest.mark.usefixtures("_trust")
@pytest.mark.parametrize("port", ["TLS", "TLS required", "TLS 1.3 only"])
def test_a_valid_certificate_is_accepted_where_it_is_checked(postfix: Postfix, port: str) -> None:
    original = message()
    with smarthost(postfix.ports[port], VERIFIED) as transport:
        assert isinstance(transport.deliver(original, commit_at_once), Delivered)
    assert_stored(postfix.mailbox, original)


@pytest.mark.usefixtures("_trust")
@pytest.mark.parametrize(
    ("port", "reason"),
    [
        ("TLS self-signed", "self-signed certificate"),
        ("TLS expired", "certificate has expired"),
        ("TLS wrong host", "IP address mismatch"),
        ("all extensions", "does not offer STARTTLS"),
    ],
)
def test_a_message_waits_where_the_certificate_is_checked_and_not_valid(
    postfix: Postfix, port: str, reason: str
) -> None:
    original = message()
    with smarthost(postfix.ports[port], VERIFIED) as transport:
        outcome = transport.deliver(original, commit_at_once)
    _assert_waits(postfix, original, outcome, reason)


def test_a_server_that_requires_tls_refuses_mail_in_the_clear(postfix: Postfix) -> None:
    original = message()
    options = SessionOptions(tls=TlsMode.OFF, timeouts=TIMEOUTS)
    with smarthost(postfix.ports["TLS required"], options) as transport:
        outcome = transport.deliver(original, commit_at_once)
    assert isinstance(outcome, Failed)
    assert outcome.code == 530
    assert postfix.mailbox.copies(original) == []


@pytest.mark.usefixtures("_trust")
def test_a_host_that_keeps_to_its_domains_policy_gets_mail(postfix: Postfix) -> None:
    original = message()
    with mx(postfix.ports["TLS"], ENFORCED) as transport:
        outcome = transport.deliver(original, commit_at_once)
    assert isinstance(outcome, Delivered)
    assert (outcome.tls, outcome.tls_policy) == ("TLSv1.3", "mta-sts")
    assert_stored(postfix.mailbox, original)


@pytest.mark.usefixtures("_trust")
@pytest.mark.parametrize(
    ("port", "reason"),
    [
        ("TLS self-signed", "self-signed certificate"),
        ("TLS expired", "certificate has expired"),
        ("TLS wrong host", "Hostname mismatch"),
        ("all extensions", "does not offer STARTTLS"),
    ],
)
def test_mail_waits_while_the_host_breaks_its_domains_policy(
    postfix: Postfix, port: str, reason: str
) -> None:
    original = message()
    with mx(postfix.ports[port], ENFORCED) as transport:
        outcome = transport.deliver(original, commit_at_once)
    _assert_waits(postfix, original, outcome, reason)


KINDS = [
    ("TLS", SUCCESS),
    ("TLS 1.3 only", SUCCESS),
    ("TLS self-signed", NOT_TRUSTED),
    ("TLS expired", EXPIRED),
    ("TLS wrong host", HOST_MISMATCH),
    ("all extensions", NO_STARTTLS),
]


@pytest.mark.usefixtures("_trust")
@pytest.mark.parametrize(("port", "kind"), KINDS)
def test_a_policy_that_is_tested_lets_mail_through_and_is_told_what_it_would_hold_back(
    postfix: Postfix, port: str, kind: str
) -> None:
    original = message()
    results: list[SessionResult] = []
    with mx(postfix.ports[port], TESTED, results.append) as transport:
        outcome = transport.deliver(original, commit_at_once)
    assert isinstance(outcome, Delivered)
    assert (outcome.tls is None) is (kind == NO_STARTTLS)
    assert_stored(postfix.mailbox, original)
    about = ("localhost", "127.0.0.1", TESTED.lines, TESTED.hosts)
    assert results == [SessionResult("inbox.test", STS, kind, *about)]


@pytest.mark.usefixtures("_trust")
@pytest.mark.parametrize(("port", "kind"), KINDS)
def test_each_session_under_an_enforced_policy_is_counted_with_its_result(
    postfix: Postfix, port: str, kind: str
) -> None:
    results: list[SessionResult] = []
    with mx(postfix.ports[port], ENFORCED, results.append) as transport:
        outcome = transport.deliver(message(), commit_at_once)
    assert isinstance(outcome, Delivered) is (kind == SUCCESS)
    about = ("localhost", "127.0.0.1", ENFORCED.lines, ENFORCED.hosts)
    assert results == [SessionResult("inbox.test", STS, kind, *about)]


@pytest.mark.parametrize(("port", "kind"), [("TLS self-signed", SUCCESS), KINDS[-1]])
def test_without_a_policy_any_encryption_is_a_success(
    postfix: Postfix, port: str, kind: str
) -> None:
    results: list[SessionResult] = []
    with mx(postfix.ports[port], observe=results.append) as transport:
        for _ in range(2):
            assert isinstance(transport.deliver(message(), commit_at_once), Delivered)
    about = ("localhost", "127.0.0.1")
    assert results == [SessionResult("inbox.test", NO_POLICY, kind, *about)]
