from __future__ import annotations

import pytest

from relay import replies
from relay.errors import LoginRefused, SmtpRefusal
from relay.login import decode_response, login_of, login_of_plain, subaccount_of


@pytest.mark.spec("5-r7")
@pytest.mark.parametrize(
    ("username", "subaccount"),
    [
        ("SMTP_Injection", None),
        ("SMTP_Injection:X-SVC-SUBACCOUNT=42", 42),
        ("SMTP_Injection:X-MSYS-SUBACCOUNT=42", 42),
        ("SMTP_Injection:x-svc-subaccount=2147483647", 2147483647),
        ("SMTP_Injection:X-SVC-SUBACCOUNT=0", 0),
    ],
)
def test_a_username_says_for_whom_mail_is_sent(username: str, subaccount: int | None) -> None:
    assert subaccount_of(username) == subaccount


@pytest.mark.parametrize(
    "username",
    [
        "",
        "someone",
        "smtp_injection",
        "SMTP_Injection:",
        "SMTP_Injection:X-SVC-SUBACCOUNT",
        "SMTP_Injection:X-SVC-SUBACCOUNT=",
        "SMTP_Injection:X-SVC-SUBACCOUNT=x",
        "SMTP_Injection:X-SVC-SUBACCOUNT=-1",
        "SMTP_Injection:X-SVC-SUBACCOUNT= 1",
        "SMTP_Injection:X-SVC-SUBACCOUNT=1:2",
        "SMTP_Injection:X-SVC-SUBACCOUNT=2147483648",
        "SMTP_Injection:X-SVC-SUBACCOUNT=\u0661",
        "SMTP_Injection:X-OTHER=1",
        "SMTP_Injection:X-SVC-SUBACCOUNT=" + "9" * 10_000,
    ],
)
def test_any_other_username_is_a_failed_login(username: str) -> None:
    with pytest.raises(LoginRefused) as excinfo:
        subaccount_of(username)
    assert excinfo.value.reply == replies.LOGIN_FAILED


def test_plain_has_an_identity_a_username_and_a_password() -> None:
    login = login_of_plain(b"ignored\0SMTP_Injection:X-SVC-SUBACCOUNT=7\0secret")
    assert (login.username, login.password) == ("SMTP_Injection:X-SVC-SUBACCOUNT=7", "secret")


@pytest.mark.parametrize("response", [b"", b"SMTP_Injection\0secret", b"\0SMTP_Injection\0a\0b"])
def test_plain_with_other_parts_is_a_failed_login(response: bytes) -> None:
    with pytest.raises(LoginRefused):
        login_of_plain(response)


def test_a_login_that_is_not_utf8_fails() -> None:
    with pytest.raises(LoginRefused):
        login_of(b"SMTP_Injection", b"\xff")


def test_a_login_does_not_show_its_password() -> None:
    assert "secret" not in repr(login_of(b"SMTP_Injection", b"secret"))


def test_an_equals_sign_is_the_empty_response() -> None:
    assert decode_response("=") == b""


@pytest.mark.parametrize(
    ("response", "reply"),
    [
        ("*", replies.LOGIN_ABORTED),
        ("a", replies.LOGIN_NOT_BASE64),
        ("!!!!", replies.LOGIN_NOT_BASE64),
        ("YWJj\u00e4", replies.LOGIN_NOT_BASE64),
    ],
)
def test_a_response_that_is_no_base64_is_refused(response: str, reply: replies.Reply) -> None:
    with pytest.raises(SmtpRefusal) as refusal:
        decode_response(response)
    assert refusal.value.reply == reply
