"""A search of texts by the index finds what a look at every message finds."""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from email import message_from_bytes
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mail_readers.imap_search import Candidate, SearchReader, matching
from infrastructure.local.mail_readers.imap_selection import Selection
from infrastructure.local.mail_readers.imap_syntax import Scanner
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.messages.details import Detailer

ADDRESSES = (
    *("ann@a.test", "Ann <ann@a.test>", '"Doe, Ann" <doe@a.test>', "ann@a.test (Bob)"),
    *("team: ann@a.test, bob@b.test;", "Bob <bob@b.test>, ann@a.test", "undisclosed", ""),
    '"An\\"n" <an@a.test>',
)
TEXTS = ("Ann is here", "order\r\n  for bob", "", "ann@a.test", "x" * 20_500 + " Bob", "ORDER a")
NEEDLES = (
    *("ann", "ANN@a", "bob", "doe, ann", "ann <ann@a.test>", "order", "order for", "team", "here"),
    *("bob@b.test ann", "(bob)", "<1@a", "1@a.test>", "a.test", "undisc", "is  here", "x bob", "n"),
)
KEYS = ("FROM", "TO", "CC", "BCC", "SUBJECT", "BODY", "TEXT", "HEADER Message-ID")


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    fields = [f"Subject: {draw(st.sampled_from(('Order', 'ann', 'x')))}"]
    for name in ("From", "To", "Cc", "Bcc"):
        for value in draw(st.lists(st.sampled_from(ADDRESSES), max_size=2)):
            fields.append(f"{name}: {value}")
    for value in draw(st.lists(st.sampled_from(("<1@a.test>", "1@a.test", "<2@b>")), max_size=2)):
        fields.append(f"Message-ID: {value}")
    return ("\r\n".join(fields) + "\r\n\r\n" + draw(st.sampled_from(TEXTS))).encode()


def without_marks(text: str) -> str:
    return " ".join(re.sub('[<>",]', " ", text).split()).lower()


def has(source: bytes, key: str, needle: str) -> bool:
    """Whether a message has a text, by Python's own parser."""
    message = message_from_bytes(source)
    name = key.split()[-1]
    values = [str(each).strip() for each in message.get_all(name, [])]
    if key == "BODY":
        body = " ".join(str(message.get_payload()).split()).lower()
        return re.sub(r"\s+", " ", needle.lower()) in body
    if name in ("SUBJECT", "Message-ID"):
        return any(needle.lower() in each.lower() for each in values)
    return bool(values) and without_marks(needle) in without_marks(" ".join(values))


def found_by(desk: ReadingDesk, selection: Selection, search: str) -> list[int]:
    key = SearchReader(desk, selection).read(Scanner(search.encode()))
    return matching(desk, selection, key, range(1, len(selection) + 1))


def quoted(needle: str) -> str:
    escaped = needle.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def opened(root: Path, mailbox: SinkMailbox) -> tuple[ReadingDesk, Selection]:
    desk = ReadingDesk.open(mailbox, root, ReaderChoices(), ThreadPoolExecutor(1))
    return desk, Selection(desk, "INBOX", [], is_read_only=True)


@settings(max_examples=25, deadline=None)
@given(st.lists(messages(), min_size=1, max_size=5), st.lists(messages(), max_size=2))
def test_the_index_finds_what_a_look_at_each_message_finds(
    sources: list[bytes], fresh: list[bytes]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        with closing(SinkMailbox(root / "mail")) as mailbox:
            for each in sources:
                mailbox.add("me@c.test", "you@a.test", each)
            Detailer(mailbox, lambda _: {}).add_some(100)
            for each in fresh:
                mailbox.add("me@c.test", "you@a.test", each)
            desk, selection = opened(root, mailbox)
            with closing(desk):
                for key in KEYS[:6] + KEYS[7:]:
                    for needle in NEEDLES:
                        positions = [
                            at
                            for at, each in enumerate(sources + fresh, 1)
                            if has(each, key, needle)
                        ]
                        matches = found_by(desk, selection, f"{key} {quoted(needle)}")
                        assert matches == positions, (key, needle)
                        rest = found_by(desk, selection, f"NOT {key} {quoted(needle)}")
                        assert sorted(matches + rest) == list(range(1, len(selection) + 1))


@settings(max_examples=10, deadline=None)
@given(st.lists(messages(), min_size=1, max_size=4))
def test_texts_are_found_as_well_before_there_are_details(sources: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        with closing(SinkMailbox(root / "mail")) as mailbox:
            for each in sources:
                mailbox.add("me@c.test", "you@a.test", each)
            desk, selection = opened(root, mailbox)
            with closing(desk):
                searches = [f"{key} {quoted(each)}" for key in KEYS for each in NEEDLES]
                before = [found_by(desk, selection, each) for each in searches]
                Detailer(mailbox, lambda _: {}).add_some(100)
                assert [found_by(desk, selection, each) for each in searches] == before


def test_no_file_is_read_for_usual_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SinkMailbox(tmp_path / "mail")) as mailbox:
        source = b"From: A <a@a.test>\r\nTo: b@b.test\r\nMessage-ID: <1@a.test>\r\n\r\nHello order"
        mailbox.add("a@a.test", "b@b.test", source)
        Detailer(mailbox, lambda _: {}).add_some(10)
        desk, selection = opened(tmp_path, mailbox)
        monkeypatch.setattr(SinkMailbox, "read", None)
        monkeypatch.setattr(Candidate, "content", None)
        with closing(desk):
            for key, needle in (
                *(("FROM", "a@a"), ("TO", "b@"), ("HEADER Message-ID", "<1@a.test>")),
                *(("BODY", "order"), ("TEXT", "hello"), ("NOT CC", "b"), ("NOT BCC", "b")),
            ):
                assert found_by(desk, selection, f"{key} {quoted(needle)}") == [1]
