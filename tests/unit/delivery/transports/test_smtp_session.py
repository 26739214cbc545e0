"""Messages are sent over an open session, to good hosts and bad ones."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry
from chalicelib.delivery.transports import OutboundMessage, commit_at_once
from chalicelib.delivery.transports.smtp_opening import SessionOptions, open_session
from chalicelib.delivery.transports.smtp_session import SessionLost, SmtpSession, close_all
from chalicelib.delivery.transports.smtp_wire import HostReply, SmtpWire, Timeouts
from tests.unit.delivery.scripted_server import (
    DEAF,
    HANG_UP,
    SILENCE,
    STANDARD,
    Answer,
    Answers,
    ScriptedServer,
)

PATIENT = SessionOptions(timeouts=Timeouts(5, 5, 5, 5, 5))
HURRIED = SessionOptions(timeouts=Timeouts(0.3, 0.3, 0.5, 0.3, 0.3))
ONE_BY_ONE = tuple(extension for extension in STANDARD if extension != "PIPELINING")
DATA = b"Subject: hi\r\n\r\n.dots\r\n.\r\nend\r\n"
EITHER_WAY = pytest.mark.parametrize("extensions", [STANDARD, ONE_BY_ONE])


def message(recipient: str = "b@example.net", data: bytes = DATA) -> OutboundMessage:
    return OutboundMessage("a@example.com", recipient, data)


def session_with(host: ScriptedServer, options: SessionOptions = PATIENT) -> SmtpSession:
    return open_session(host.address, "client.test", options)


def never(finish: Callable[[], Outcome]) -> Outcome:
    raise AssertionError("the commit window opened for a message that had failed")


@EITHER_WAY
def test_a_message_arrives_as_it_was(extensions: tuple[str, ...]) -> None:
    with ScriptedServer(extensions=extensions) as host:
        session = session_with(host)
        outcome = session.send(message(), commit_at_once)
        session.close()
    assert outcome == Delivered(250, "2.0.0 taken", "127.0.0.1", None)
    assert host.contents == [b"Subject: hi\r\n\r\n..dots\r\n..\r\nend\r\n"]


def test_commands_go_out_together_where_that_is_offered() -> None:
    with ScriptedServer() as host:
        session = session_with(host)
        session.send(message(), commit_at_once)
        session.close()
    assert (
        host.conversations[0].batches[1]
        == (
            f"MAIL FROM:<a@example.com> SIZE={len(DATA)}\r\nRCPT TO:<b@example.net>\r\nDATA\r\n"
        ).encode()
    )


def test_commands_go_out_one_by_one_otherwise() -> None:
    with ScriptedServer(extensions=ONE_BY_ONE) as host:
        session = session_with(host)
        session.send(message(), commit_at_once)
        session.close()
    assert [batch.split(b" ")[0].strip() for batch in host.conversations[0].batches[:4]] == [
        b"EHLO",
        b"MAIL",
        b"RCPT",
        b"DATA",
    ]


@EITHER_WAY
def test_many_messages_share_a_session(extensions: tuple[str, ...]) -> None:
    with ScriptedServer(extensions=extensions) as host:
        session = session_with(host)
        for n in range(20):
            assert session.send(message(f"b{n}@example.net"), commit_at_once).code == 250
        session.close()
    assert len(host.contents) == 20
    assert len(host.conversations) == 1
    assert session.messages == 20


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="Linux only")
def test_a_host_that_writes_its_replies_one_by_one_is_not_waited_for() -> None:
    with ScriptedServer() as host:  # it leaves Nagle's algorithm on
        session = session_with(host)
        times = []
        for _ in range(40):
            started = time.monotonic()
            session.send(message(), commit_at_once)
            times.append(time.monotonic() - started)
        assert min(times) < 0.04, "each takes at least 40 ms with delayed acknowledgements"
        session.close()


def test_a_large_message_arrives_whole() -> None:
    content = b"Subject: big\r\n\r\n" + b"".join(b"%070d\r\n" % n for n in range(13_000))
    with ScriptedServer() as host:
        session = session_with(host)
        assert session.send(message(data=content), commit_at_once).code == 250
        session.close()
    assert host.contents == [content]


@EITHER_WAY
@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (b"550-5.1.1 no such\r\n550 5.1.1 user\r\n", (Failed, 550, "5.1.1 no such 5.1.1 user", 10)),
        (b"451 4.7.1 greylisted\r\n", (Retry, 451, "4.7.1 greylisted", 70)),
    ],
)
def test_a_refused_message_leaves_the_session_usable(
    extensions: tuple[str, ...],
    verb: str,
    reply: bytes,
    outcome: tuple[type[Failed | Retry], int, str, int],
) -> None:
    answers = {verb: [reply]}
    if verb != "DATA" and extensions is STANDARD:
        answers["DATA"] = [b"503 5.5.1 not now\r\n"]
    with ScriptedServer(extensions=extensions, answers=answers) as host:
        session = session_with(host)
        kind, code, text, bounce_class = outcome
        assert session.send(message(), never) == kind(code, text, bounce_class, "127.0.0.1", None)
        assert session.send(message(), commit_at_once).code == 250
        session.close()
    assert len(host.conversations) == 1
    assert "RSET" in host.conversations[0].verbs()
    assert len(host.contents) == 1


def test_no_dot_is_sent_for_a_recipient_that_was_refused() -> None:
    with ScriptedServer(answers={"RCPT": [b"550 5.1.1 no such user\r\n"]}) as host:
        session = session_with(host)
        outcome = session.send(message(), never)
        assert not session.is_open
    assert isinstance(outcome, Failed)
    assert host.conversations[0].verbs()[-1] == "DATA"
    assert host.contents == []


@pytest.mark.parametrize(
    ("reply", "kind", "bounce_class"),
    [
        (b"554 5.7.1 message rejected as spam\r\n", Failed, 52),
        (b"452 4.2.2 mailbox full\r\n", Retry, 22),
    ],
)
def test_the_reply_to_the_dot_decides(
    reply: bytes, kind: type[Failed | Retry], bounce_class: int
) -> None:
    with ScriptedServer(answers={".": [reply]}) as host:
        session = session_with(host)
        outcome = session.send(message(), commit_at_once)
        assert isinstance(outcome, kind)
        assert outcome.bounce_class == bounce_class
        assert session.send(message(), commit_at_once).code == 250
        session.close()
    assert "RSET" not in host.conversations[0].verbs()


@EITHER_WAY
@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "DATA"])
def test_a_host_that_hangs_up_before_the_dot_loses_the_session(
    extensions: tuple[str, ...], verb: str
) -> None:
    with ScriptedServer(extensions=extensions, answers={verb: [HANG_UP]}) as host:
        session = session_with(host)
        with pytest.raises(SessionLost) as excinfo:
            session.send(message(), never)
    assert excinfo.value.stale
    assert excinfo.value.outcome.bounce_class == 20
    assert not session.is_open


def test_a_host_that_falls_silent_before_the_dot_is_a_timeout() -> None:
    with ScriptedServer(answers={"RCPT": [SILENCE]}) as host:
        session = session_with(host, HURRIED)
        with pytest.raises(SessionLost) as excinfo:
            session.send(message(), never)
    assert not excinfo.value.stale
    assert excinfo.value.outcome.bounce_class == 24
    assert excinfo.value.outcome.ip_address == "127.0.0.1"


@pytest.mark.parametrize(
    ("reply", "is_stale"),
    [("4.4.2 idle for too long", True), ("4.7.0 too many messages from your address", False)],
)
def test_a_host_that_says_it_is_closing_loses_the_session(reply: str, is_stale: bool) -> None:
    """What its policy refuses, it would refuse in another session as well."""
    with ScriptedServer(answers={"MAIL": [f"421 {reply}\r\n".encode()]}) as host:
        session = session_with(host)
        with pytest.raises(SessionLost) as excinfo:
            session.send(message(), never)
    assert excinfo.value.stale is is_stale
    assert excinfo.value.outcome.code == 421
    assert excinfo.value.outcome.reply == reply


@pytest.mark.parametrize("code", [550, 450])
def test_a_refusal_counts_although_the_host_hangs_up_after_it(code: int) -> None:
    answers: Answers = {"MAIL": [b"%d 5.7.1 go away\r\n" % code], "RCPT": [HANG_UP]}
    with ScriptedServer(answers=answers) as host:
        session = session_with(host)
        outcome = session.send(message(), never)
    assert outcome.code == code
    assert not session.is_open


def test_a_refusal_that_comes_before_the_dot_is_the_reply_to_it() -> None:
    answers: Answers = {
        "DATA": [b"354 go\r\n552 5.3.4 too large\r\n"],
        ".": [HANG_UP],
    }
    with ScriptedServer(answers=answers) as host:
        session = session_with(host)
        outcome = session.send(message(), commit_at_once)
    assert isinstance(outcome, Failed)
    assert outcome.bounce_class == 23


LARGE = b"Subject: large\r\n\r\n" + b"x" * 70 + (b"y" * 70 + b"\r\n") * 200_000


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("552 5.3.4 too large", Failed(552, "5.3.4 too large", 23, "127.0.0.1")),
        ("452 4.3.1 disk full", Retry(452, "4.3.1 disk full", 70, "127.0.0.1")),
    ],
)
def test_a_host_that_hangs_up_in_the_middle_of_the_content_may_say_why(
    reply: str, outcome: Outcome
) -> None:
    last_words = (f"354 go\r\n{reply}\r\n".encode(), HANG_UP)
    with ScriptedServer(answers={"DATA": [last_words]}, extensions=("PIPELINING",)) as host:
        session = session_with(host)
        assert session.send(message(data=LARGE), never) == outcome
    assert not session.is_open


@pytest.mark.parametrize(
    ("last_words", "reply"),
    [
        (b"", "4.4.2 [internal]"),
        (b"250 what?\r\n", "4.4.2 [internal]"),
        (b"421 4.3.2 going down\r\n", "4.3.2 going down"),
    ],
)
def test_a_host_that_hangs_up_in_the_middle_of_the_content_loses_the_session(
    last_words: bytes, reply: str
) -> None:
    answer = (b"354 go\r\n" + last_words, HANG_UP)
    with ScriptedServer(answers={"DATA": [answer]}, extensions=("PIPELINING",)) as host:
        session = session_with(host)
        with pytest.raises(SessionLost) as excinfo:
            session.send(message(data=LARGE), never)
    assert excinfo.value.stale
    assert excinfo.value.outcome.code == 421
    assert excinfo.value.outcome.reply.startswith(reply)


def test_a_host_that_stops_reading_the_content_is_a_timeout() -> None:
    answer = (b"354 go\r\n", DEAF)
    with ScriptedServer(answers={"DATA": [answer]}, extensions=("PIPELINING",)) as host:
        session = session_with(host, HURRIED)
        with pytest.raises(SessionLost) as excinfo:
            session.send(message(data=LARGE), never)
    assert not excinfo.value.stale
    assert excinfo.value.outcome.bounce_class == 24


@pytest.mark.parametrize(
    ("answer", "bounce_class"),
    [(HANG_UP, 20), (SILENCE, 24), (b"what?\r\n", 20), (b"354 again?\r\n", 20)],
)
def test_a_host_lost_after_the_dot_is_a_retry_and_nothing_is_resent(
    answer: Answer, bounce_class: int
) -> None:
    with ScriptedServer(answers={".": [answer]}) as host:
        session = session_with(host, HURRIED)
        outcome = session.send(message(), commit_at_once)
    assert isinstance(outcome, Retry)
    assert outcome.bounce_class == bounce_class
    assert outcome.reply.endswith("after the whole message was sent")
    assert not session.is_open
    assert [verb for c in host.conversations for verb in c.verbs()].count("DATA") == 1


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (b"421 4.3.2 too busy\r\n", Retry(421, "4.3.2 too busy", 70, "127.0.0.1")),
        (b"554 5.7.1 spam\r\n", Failed(554, "5.7.1 spam", 52, "127.0.0.1")),
    ],
)
def test_a_host_that_hangs_up_before_the_last_piece_may_say_why(
    reply: bytes, outcome: Outcome
) -> None:
    """The connection breaks while the last piece is sent, so the host has not got the dot."""
    with ScriptedServer(answers={"DATA": [(b"354 go\r\n" + reply, HANG_UP)]}) as host:
        session = session_with(host)

        def late(finish: Callable[[], Outcome]) -> Outcome:
            until_reset(session._wire._socket)
            return finish()

        assert session.send(message(), late) == outcome
    assert not session.is_open


def until_reset(connection: socket.socket) -> None:
    """Write to a connection until the other end has reset it; what came from there stays."""
    with suppress(ConnectionError):
        while True:
            with suppress(BlockingIOError):
                connection.send(b"\r\n")


def test_a_421_reply_to_the_dot_ends_the_session() -> None:
    with ScriptedServer(answers={".": [b"421 4.3.2 going down\r\n"]}) as host:
        session = session_with(host)
        outcome = session.send(message(), commit_at_once)
    assert outcome == Retry(421, "4.3.2 going down", 70, "127.0.0.1", None)
    assert not session.is_open


@pytest.mark.parametrize("data", [DATA, LARGE])
def test_the_dot_is_sent_inside_the_commit_window_and_nothing_after_it(data: bytes) -> None:
    seen: list[str] = []
    with ScriptedServer(extensions=("PIPELINING",)) as host:
        session = session_with(host)

        def commit(finish: Callable[[], Outcome]) -> Outcome:
            seen.append(host.conversations[0].verbs()[-1])
            outcome = finish()
            seen.append(host.conversations[0].verbs()[-1])
            return outcome

        session.send(message(data=data), commit)
        session.close()
    assert seen == ["DATA", "."]
    assert host.contents[0].replace(b"\r\n..", b"\r\n.") == data


def test_most_of_a_large_message_goes_out_before_the_commit_window() -> None:
    before: list[int] = []
    with ScriptedServer(extensions=("PIPELINING",)) as host:
        session = session_with(host)

        def commit(finish: Callable[[], Outcome]) -> Outcome:
            deadline = time.monotonic() + 60
            while sum(map(len, host.conversations[0].batches)) < len(LARGE) - 33_000:
                assert time.monotonic() < deadline
            before.append(sum(map(len, host.conversations[0].batches)))
            return finish()

        session.send(message(data=LARGE), commit)
        session.close()
    assert before[0] < len(LARGE)


def test_a_commit_that_breaks_leaves_no_session_behind() -> None:
    def broken(finish: Callable[[], Outcome]) -> Outcome:
        raise OSError("disk full")

    with ScriptedServer() as host:
        session = session_with(host)
        with pytest.raises(OSError, match="disk full"):
            session.send(message(), broken)
    assert not session.is_open
    assert host.contents == []


def test_a_commit_that_never_sends_the_dot_leaves_no_session_behind() -> None:
    outcome = Retry(451, "not today", 70)
    with ScriptedServer() as host:
        session = session_with(host)
        assert session.send(message(), lambda finish: outcome) == outcome
        assert not session.is_open
    assert host.contents == []


def test_a_record_that_cannot_be_written_does_not_harm_the_session() -> None:
    def broken(finish: Callable[[], Outcome]) -> Outcome:
        finish()
        raise OSError("disk full")

    with ScriptedServer() as host:
        session = session_with(host)
        with pytest.raises(OSError, match="disk full"):
            session.send(message(), broken)
        assert session.send(message(), commit_at_once).code == 250
        session.close()
    assert len(host.contents) == 2


def test_one_reply_too_many_is_not_taken_for_the_reply_to_the_next_message() -> None:
    with ScriptedServer(answers={".": [b"250 2.0.0 taken\r\n550 5.7.1 spam\r\n"]}) as host:
        session = session_with(host)
        assert session.send(message(), commit_at_once).code == 250
        with pytest.raises(SessionLost, match="out of turn") as excinfo:
            session.send(message(), never)
    assert excinfo.value.stale
    assert host.conversations[0].verbs().count("MAIL") == 1


def test_a_message_that_the_host_cannot_take_fails_without_a_command() -> None:
    with ScriptedServer(extensions=("SIZE 10",)) as host:
        session = session_with(host)
        outcome = session.send(message(), never)
        session.close()
    assert isinstance(outcome, Failed)
    assert host.conversations[0].verbs() == ["EHLO", "QUIT"]


@pytest.mark.parametrize("reply", [b"250 odd\r\n", b"300 odder\r\n"])
def test_a_host_out_of_step_is_not_trusted(reply: bytes) -> None:
    with ScriptedServer(answers={"DATA": [reply]}) as host:
        session = session_with(host)
        with pytest.raises(SessionLost, match="out of turn"):
            session.send(message(), never)


def test_a_host_that_does_not_reset_is_not_used_again() -> None:
    answers: Answers = {
        "DATA": [b"451 4.3.0 no\r\n"],
        "RSET": [b"502 5.5.1 no\r\n"],
    }
    with ScriptedServer(answers=answers) as host:
        session = session_with(host)
        session.send(message(), never)
        with pytest.raises(SessionLost, match="reset"):
            session.send(message(), never)


def test_closing_twice_or_a_dead_session_is_harmless() -> None:
    with ScriptedServer(answers={"QUIT": [HANG_UP]}) as host:
        session = session_with(host)
        session.close()
        session.close()
    assert host.conversations[0].verbs() == ["EHLO", "QUIT"]


def test_hosts_that_do_not_answer_quit_have_the_time_of_one_together() -> None:
    options = SessionOptions(timeouts=Timeouts(5, 5, 5, 5, 0.5))
    with ScriptedServer(answers={"QUIT": [SILENCE] * 20}) as host:
        sessions = [session_with(host, options) for _ in range(20)]
        started = time.monotonic()
        close_all(sessions)
        assert time.monotonic() - started < 5, "one after the other they have ten seconds"
    assert {tuple(each.verbs()) for each in host.conversations} == {("EHLO", "QUIT")}
    assert not any(session.is_open for session in sessions)


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> list[HostReply]:
    """The replies that all sessions have read."""
    replies: list[HostReply] = []
    read_reply = SmtpWire.read_reply

    def remember(wire: SmtpWire, seconds: float) -> HostReply:
        replies.append(read_reply(wire, seconds))
        return replies[-1]

    monkeypatch.setattr(SmtpWire, "read_reply", remember)
    return replies


def test_the_connection_is_closed_when_the_host_has_answered_quit(replies: list[HostReply]) -> None:
    with ScriptedServer() as host:
        session = session_with(host)
        session.close()
    assert replies[-1].code == 221
    assert not session.is_open


def test_an_answer_to_quit_is_read_even_when_its_time_is_over(replies: list[HostReply]) -> None:
    with ScriptedServer() as host:
        session = session_with(host)
        session.say_goodbye()
        assert select.select([session._wire._socket], [], [], 10)[0]
        session.end(time.monotonic() - 1)
    assert replies[-1].code == 221
