"""What arrives and matches is forwarded once, also over restarts, to allowed recipients only."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.core import clock
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.messages.details import Detailer
from infrastructure.local.releasing import forwarding
from infrastructure.local.releasing.choices import ReleaseChoices
from infrastructure.local.releasing.forwarding import MARK, Forwarder
from infrastructure.local.releasing.forwarding_state import StateFile
from infrastructure.local.releasing.start import begin, release_choices
from tests.unit.delivery.scripted_server import Answers, ScriptedServer
from tests.unit.infrastructure.local.running import eventually


class Post:
    """A mailbox whose mail is forwarded to a server."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        self.mailbox = SinkMailbox(folder)
        self._folder = folder
        self._server = server

    def forwarder(self, matching: str = "*@ours.test", to: str = "") -> Forwarder:
        """Return what a start of the service makes."""
        environ = {
            "RELEASE_HOST": f"smtp://127.0.0.1:{self._server.port}",
            "RELEASE_RECIPIENTS": "*@ours.test, real@else.test",
            "FORWARD_MATCHING": matching,
            "FORWARD_TO": to,
        }
        detailer = Detailer(self.mailbox, contexts=lambda references: {})
        return Forwarder(self.mailbox, detailer, ReleaseChoices.read(environ), self._folder)

    def arrive(self, subject: str, *recipients: str, inbox: str = "") -> str:
        content = f"Subject: {subject}\r\n\r\ntext of {subject}\r\n".encode()
        trace = Trace("s@a.test", recipients or ("bob@ours.test",), inbox=inbox)
        return self.mailbox.store(trace, content)

    @property
    def subjects(self) -> list[str]:
        return [
            each.split(b"Subject: ")[1].split(b"\r\n")[0].decode() for each in self._server.contents
        ]

    @property
    def recipients(self) -> list[str]:
        commands = [command for each in self._server.conversations for command in each.commands]
        return [each[9:-1] for each in commands if each.lower().startswith("rcpt to:")]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def post(tmp_path: Path, server: ScriptedServer) -> Iterator[Post]:
    post = Post(tmp_path, server)
    yield post
    post.mailbox.close()


def test_what_arrives_is_forwarded_as_it_came(post: Post, server: ScriptedServer) -> None:
    post.arrive("earlier")
    forwarder = post.forwarder()
    post.arrive("one")
    post.arrive("two", "x@b.test")
    forwarder.step()
    forwarder.step()
    assert server.contents == [
        f"{MARK}: yes\r\nSubject: one\r\n\r\ntext of one\r\n".encode(),
    ]
    assert "mail FROM:<s@a.test>" in server.conversations[0].commands[1]


@pytest.mark.parametrize(
    ("matching", "subjects"),
    [
        ("inbox:shop", ["two"]),
        ("subject:two", ["two"]),
        ('"text of one"', ["one"]),
        ("-subject:one", ["two"]),
        ("*", ["one", "two"]),
    ],
)
def test_a_search_says_what_is_forwarded(post: Post, matching: str, subjects: list[str]) -> None:
    forwarder = post.forwarder(matching)
    post.arrive("one")
    post.arrive("two", inbox="shop")
    forwarder.step()
    assert post.subjects == subjects


def test_only_allowed_recipients_get_it(post: Post, caplog: pytest.LogCaptureFixture) -> None:
    forwarder = post.forwarder("subject:one")
    post.arrive("one", "bob@ours.test", "x@b.test")
    forwarder.step()
    assert post.recipients == ["bob@ours.test"]
    assert "does not allow to forward to x@b.test" in caplog.text


def test_a_pattern_forwards_to_the_recipients_that_match(post: Post) -> None:
    forwarder = post.forwarder("real@else.test")
    post.arrive("one", "bob@ours.test", "real@else.test")
    forwarder.step()
    assert post.recipients == ["real@else.test"]


def test_all_may_go_to_one_address(post: Post) -> None:
    forwarder = post.forwarder("*", to="real@else.test")
    post.arrive("one", "x@b.test", "y@b.test")
    forwarder.step()
    assert post.recipients == ["real@else.test"]


def test_a_restart_loses_nothing_and_repeats_nothing(post: Post) -> None:
    forwarder = post.forwarder()
    post.arrive("one")
    forwarder.step()
    post.arrive("two")
    post.forwarder().step()
    post.forwarder().step()
    assert post.subjects == ["one", "two"]


def test_what_arrives_while_it_is_off_is_not_forwarded_later(
    tmp_path: Path, server: ScriptedServer
) -> None:
    post = Post(tmp_path / "mail", server)
    post.forwarder()
    begin(release_choices({}), tmp_path)
    post.arrive("one")
    forwarder = post.forwarder()
    post.arrive("two")
    forwarder.step()
    assert post.subjects == ["two"]
    post.mailbox.close()


def test_another_rule_begins_with_the_next_message(post: Post) -> None:
    post.forwarder("*")
    post.arrive("one")
    forwarder = post.forwarder("*", to="real@else.test")
    post.arrive("two")
    forwarder.step()
    assert post.subjects == ["two"]


def test_an_index_that_begins_anew_repeats_nothing(post: Post, tmp_path: Path) -> None:
    forwarder = post.forwarder()
    for number in range(5):
        post.arrive(str(number))
    forwarder.step()
    file = StateFile(tmp_path)
    state = file.read()
    assert state is not None
    # As if the index had been another one, with other uids
    state.validity -= 1
    state.position = 2
    file.write(state)
    forwarder = post.forwarder()
    post.arrive("fresh")
    forwarder.step()
    assert post.subjects == ["0", "1", "2", "3", "4", "fresh"]


def test_a_message_that_comes_back_is_not_forwarded_again(
    post: Post, server: ScriptedServer
) -> None:
    forwarder = post.forwarder()
    post.arrive("one")
    forwarder.step()
    post.mailbox.store(Trace("s@a.test", ("bob@ours.test",)), server.contents[0])
    forwarder.step()
    assert post.subjects == ["one"]


def test_a_deleted_message_is_forgotten(post: Post) -> None:
    forwarder = post.forwarder()
    message_id = post.arrive("one")
    forwarder._collect()
    post.mailbox.delete(message_id)
    post.arrive("two")
    forwarder.step()
    assert post.subjects == ["two"]


def failing_post(folder: Path, answers: Answers) -> tuple[ScriptedServer, Post]:
    server = ScriptedServer(answers=answers)
    return server, Post(folder, server)


def test_a_server_that_takes_nothing_is_asked_again_later(tmp_path: Path) -> None:
    server, post = failing_post(tmp_path, {"MAIL": [b"451 4.3.0 later\r\n"] * 2})
    now = 1_800_000_000.0
    with server, clock.use(lambda: now):
        forwarder = post.forwarder()
        post.arrive("one")
        forwarder.step()
        forwarder.step()
        assert len(server.conversations) == 1, "it rests first"
        now += 5
        forwarder.step()
        now += 5
        forwarder.step()
        assert len(server.conversations) == 2, "and then twice as long"
        # A restart asks at once
        post.forwarder().step()
        assert post.subjects == ["one"]
    post.mailbox.close()


def test_a_message_that_is_refused_for_good_is_given_up_with_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server, post = failing_post(tmp_path, {"MAIL": [b"550 5.7.1 not you\r\n"]})
    with server:
        forwarder = post.forwarder()
        message_id = post.arrive("one")
        post.arrive("two")
        forwarder.step()
        assert post.subjects == ["two"]
    assert f"message {message_id} is not forwarded" in caplog.text
    post.mailbox.close()


def test_a_message_is_given_up_after_hours(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server, post = failing_post(tmp_path, {"MAIL": [b"451 4.3.0 later\r\n"] * 100})
    now = 1_800_000_000.0
    with server, clock.use(lambda: now), caplog.at_level(logging.ERROR):
        forwarder = post.forwarder()
        post.arrive("one")
        forwarder.step()
        now += forwarding.LONGEST
        forwarder.step()
    assert "is not forwarded" in caplog.text
    assert forwarder._state.pending == []
    post.mailbox.close()


def test_it_runs_in_the_background_until_it_is_stopped(post: Post) -> None:
    async def run() -> None:
        forwarder = post.forwarder()
        await forwarder.start()
        post.arrive("one")
        await asyncio.to_thread(eventually, lambda: post.subjects == ["one"])
        await forwarder.stop()

    asyncio.run(run())
