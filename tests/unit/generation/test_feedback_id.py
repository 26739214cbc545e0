"""Bulk mail has a Feedback-ID header, which the DKIM signature covers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from chalicelib.core.settings import settings
from chalicelib.generation.feedback_id import feedback_id_field
from tests.unit.generation.examples import generator, make_sender
from tests.unit.transmissions.examples import DEFAULTS, OPTIONS, body, make_transmission

RAW = b"From: a@mail.example.test\r\nSubject: Hi\r\n\r\nHello\r\n"
OWN = RAW.replace(b"Subject", b"feedback-id: own:sender\r\nSubject")
TRANSACTIONAL = OPTIONS | {"transactional": True}
TO = {"email": "ann@example.test"}


def headers(**fields: Any) -> list[str]:
    """Return the values of the header in a message that was generated."""
    message = generator(**fields).generate(0, TO).data
    return re.findall(r"(?mi)^feedback-id: (.*?)\r?$", message.partition(b"\r\n\r\n")[0].decode())


def field(**fields: Any) -> str:
    return feedback_id_field(make_transmission(**fields)).decode()


@pytest.mark.parametrize(
    "fields", [{}, {"content": {}, "raw": RAW}, {"content": {}, "raw": RAW, "substitute": True}]
)
class TestMessages:
    @pytest.fixture(autouse=True)
    def _sender(self, cloud: None) -> None:
        make_sender()

    def test_bulk_mail_has_one_header(self, fields: dict[str, Any]) -> None:
        assert headers(campaign_id="spring", **fields) == ["spring:account-1:bulk:postfinch"]

    def test_transactional_mail_has_none(self, fields: dict[str, Any]) -> None:
        assert headers(options=TRANSACTIONAL, **fields) == []

    def test_a_signature_covers_it_and_the_way_to_unsubscribe(self, fields: dict[str, Any]) -> None:
        message = generator(**fields).generate(0, TO).data.decode()
        assert "\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in message
        names = re.search(r"\sh=([^;]*);", message)
        assert names is not None
        signed_names = "".join(names[1].split()).split(":")
        assert signed_names.count("feedback-id") == 1
        # Listed twice, so that nobody can add another
        for name in ("list-unsubscribe", "list-unsubscribe-post"):
            assert signed_names.count(name) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"content": body()["content"] | {"headers": {"FEEDBACK-ID": "own:sender"}}},
        {"content": {}, "raw": OWN},
    ],
)
def test_the_senders_own_header_stays_alone(cloud: None, fields: dict[str, Any]) -> None:
    make_sender()
    assert headers(**fields) == ["own:sender"]


def test_a_setting_names_the_sender_or_switches_the_header_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FEEDBACK_SENDER_ID", "myshop")
    settings.cache_clear()
    assert field() == "Feedback-ID: :account-1:bulk:myshop\r\n"
    monkeypatch.setenv("FEEDBACK_SENDER_ID", "")
    settings.cache_clear()
    assert field() == ""
    monkeypatch.setenv("FEEDBACK_SENDER_ID", "four")
    settings.cache_clear()
    with pytest.raises(ValueError, match="FEEDBACK_SENDER_ID"):
        settings()


def test_a_subaccount_is_told_apart() -> None:
    assert field(subaccount_id=7) == "Feedback-ID: :account-1-7:bulk:postfinch\r\n"


@pytest.mark.parametrize(
    ("campaign", "field_text"),
    [
        ("Spring sale: 50 %", "Spring_sale_50_"),
        ("é\r\nBcc: a@b.test", "_Bcc_a_b.test"),
        ("bulk", "bulk_"),
        ("x" * 200, "x" * 64),
    ],
)
def test_a_campaign_is_one_field_of_its_own(campaign: str, field_text: str) -> None:
    line = field(campaign_id=campaign, defaults=DEFAULTS)
    assert line == f"Feedback-ID: {field_text}:account-1:bulk:postfinch\r\n"
