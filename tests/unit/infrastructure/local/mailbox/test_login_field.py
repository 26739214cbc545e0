"""A message carries the name of a login through the service, and nobody sees it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.mailbox.login_field import take_login, with_login

MESSAGE = b"From: a@b.test\r\nX-Postfinch-Login-Of: x\r\n\r\nX-Postfinch-Login: body\r\n"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=2000))
def test_any_name_arrives_and_the_message_is_as_before(login: str) -> None:
    carrying = with_login(MESSAGE, login)
    assert carrying.isascii()
    assert take_login(carrying) == (login, MESSAGE)
    # The hosts on the way put fields before it
    trace = b"Received: by x;\r\n now\r\n"
    assert take_login(trace + carrying) == (login, trace + MESSAGE)


def test_a_message_without_a_name_stays_as_it_is() -> None:
    for message in (MESSAGE, b"", b"\r\n", b"\r\nX-Postfinch-Login: x\r\n", b"no header at all"):
        assert take_login(message) == ("", message)


def test_a_name_in_the_message_itself_does_not_count() -> None:
    own = b"x-postfinch-login: a\r\n b\r\nFrom: a@b.test\r\nX-Postfinch-Login: c\r\n\r\nHello\r\n"
    assert take_login(with_login(own, "ann")) == ("ann", b"From: a@b.test\r\n\r\nHello\r\n")
