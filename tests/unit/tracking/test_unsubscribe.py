from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.settings import settings
from chalicelib.mail_format.headers import encode_header
from chalicelib.sending_domains import return_path
from chalicelib.tracking import tokens, unsubscribe
from tests.unit.tracking.examples import NINE, issuer, message

ID = message().message_id


@pytest.fixture
def headers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The headers of a message, by name."""
    monkeypatch.setenv("PUBLIC_URL", "https://mail.example")
    settings.cache_clear()
    return dict(unsubscribe.unsubscribe_headers(issuer(), ID, "bounces.example.test"))


def test_a_message_names_a_url_and_an_address(headers: dict[str, str]) -> None:
    assert list(headers) == ["List-Unsubscribe", "List-Unsubscribe-Post"]
    url, mailto = headers["List-Unsubscribe"].split(", ")
    assert url.startswith("<https://mail.example/t/u/")
    assert tokens.read("t/u", url[1:-1].rpartition("/")[2]) == (message(), None)
    assert (
        mailto == f"<mailto:{unsubscribe.address(ID, 'bounces.example.test')}?subject=unsubscribe>"
    )


def test_the_post_header_is_that_of_rfc_8058(headers: dict[str, str]) -> None:
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_the_url_stays_on_a_line_of_its_own(headers: dict[str, str]) -> None:
    lines = encode_header("List-Unsubscribe", headers["List-Unsubscribe"]).split(b"\r\n")
    assert any(line.strip(b" ,").endswith(b">") and b"<https://" in line for line in lines)
    assert all(len(line) < 998 for line in lines)


def test_the_address_names_its_message_in_any_case() -> None:
    local_part = unsubscribe.address(ID, "b.example").partition("@")[0]
    assert len(local_part) <= 64
    assert unsubscribe.message_of(local_part) == unsubscribe.message_of(local_part.upper()) == ID


def test_an_unsigned_address_names_no_message() -> None:
    local_part = unsubscribe.address(ID, "b.example").partition("@")[0]
    bounce = return_path.local_part(ID, NINE)
    last = "b" if local_part.endswith("a") else "a"
    for other in (
        local_part[:-1] + last,
        "b" + local_part[1:],
        "u" + bounce[1:],
        bounce,
        "u..",
        "",
    ):
        assert unsubscribe.message_of(other) is None


@given(st.text())
def test_any_local_part_is_handled(text: str) -> None:
    assert unsubscribe.message_of(f"u.{text}") is None
