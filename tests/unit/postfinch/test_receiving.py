"""Envelopes and messages of mail that is played in."""

from __future__ import annotations

import pytest

from postfinch import receiving
from postfinch.receiving import Copy, Envelope, NotReceived
from tests.unit.postfinch.inbound_port import inbound_port

SOURCE = b"From: Ann <ann@a.test>\nTo: B <b@b.test>, c@c.test\nCc: b@b.test, group:;\n\n.Hi\r\n"


def test_an_envelope_is_read_from_the_message_unless_it_is_named() -> None:
    expected = Envelope("ann@a.test", ["b@b.test", "c@c.test"], optional=True)
    assert receiving.envelope_of(SOURCE, None, []) == expected
    assert receiving.envelope_of(SOURCE, "", ["x@x.test"]) == Envelope("", ["x@x.test"])
    assert receiving.envelope_of(b"Subject: x\n\n", None, []).recipients == []


def test_a_message_arrives_with_its_dots_and_other_line_ends() -> None:
    with inbound_port(nobody=("c@c.test",)) as port:
        envelope = receiving.envelope_of(SOURCE, None, [])
        copies = receiving.play("127.0.0.1", port.number, SOURCE, envelope)
    assert copies == [Copy("0123456789abcdef0123456700", "b@b.test")]
    assert port.messages == [SOURCE.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")]


def test_a_named_recipient_that_is_refused_ends_it() -> None:
    with inbound_port(nobody=("c@c.test",)) as port:
        envelope = Envelope("", ["b@b.test", "c@c.test"])
        with pytest.raises(NotReceived, match=r"no mail for c@c.test \(550 "):
            receiving.play("127.0.0.1", port.number, SOURCE, envelope)
        optional = Envelope("", ["c@c.test"], optional=True)
        with pytest.raises(NotReceived):
            receiving.play("127.0.0.1", port.number, SOURCE, optional)
    assert port.messages == []


def test_a_message_is_composed_as_mail_programs_do() -> None:
    message = receiving.compose(sender="Ann <ann@a.test>", to=["b@b.test"], subject="Grüße")
    assert message["Message-ID"].endswith("@a.test>")
    assert (message["To"], message["Subject"]) == ("b@b.test", "Grüße")
