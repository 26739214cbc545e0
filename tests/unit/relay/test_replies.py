from __future__ import annotations

from relay import replies
from relay.replies import Reply


def test_a_reply_is_code_enhanced_code_and_text() -> None:
    assert replies.OK.encode() == b"250 2.0.0 OK\r\n"


def test_a_reply_without_enhanced_code_has_none() -> None:
    assert replies.greeting("relay.test").encode() == b"220 relay.test ESMTP ready\r\n"


def test_a_reply_stays_one_printable_line_whatever_its_text() -> None:
    encoded = Reply(550, "5.7.1", "a\r\n250 OK\0 b\u00fc" + "x" * 1000).encode()
    assert encoded.startswith(b"550 5.7.1 a 250 OK  b x")
    assert encoded.count(b"\r\n") == 1
    assert encoded.endswith(b"\r\n")
    assert len(encoded) <= 512


def test_the_answer_to_ehlo_marks_all_lines_but_the_last() -> None:
    answer = replies.extended_hello("relay.test", ["PIPELINING", "8BITMIME"])
    assert answer == b"250-relay.test\r\n250-PIPELINING\r\n250 8BITMIME\r\n"


def test_every_reply_that_is_not_a_greeting_has_an_enhanced_code_of_its_class() -> None:
    constants = [value for value in vars(replies).values() if isinstance(value, Reply)]
    assert len(constants) > 40
    for reply in constants:
        fitting = "2" if reply.code == 220 else str(reply.code)[0]
        assert reply.enhanced.startswith(f"{fitting}."), reply
