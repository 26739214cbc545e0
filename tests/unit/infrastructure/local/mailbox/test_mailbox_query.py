"""Search the mailbox with operators."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.mailbox_query import MAX_TERMS, BadQuery, conditions_of
from infrastructure.local.mailbox.query_terms import moment_of
from infrastructure.local.mailbox.rows import matches_line
from tests.unit.infrastructure.local.mailbox.searched_box import SearchedBox, addresses
from tests.unit.linear_time import assert_linear


class Searched:
    """A mailbox with three messages; a search returns the first letters of their subjects."""

    def __init__(self, root: Path) -> None:
        self.box = SearchedBox(root)
        self.box.add(
            subject="Bill of May",
            attachments=1,
            given_tags=["May"],
            tags='["VIP"]',
            header_id="1.bill@a.test",
            cc_addresses=addresses(("Cecil Lüders", "cc@c.test")),
            body="please pay 7 euro\nbill.pdf",
        )
        self.box.add(
            subject="Offer",
            recipients=["ben@c.test"],
            inbox="offers",
            inlines=2,
            message_id="00",
            subaccount_id=7,
            reply_to_addresses=addresses(("", "answers@a.test")),
            body="spring sale",
        )
        news = self.box.add(
            "News <news@a.test>",
            "News",
            ["ann@c.test", "hidden@d.test"],
            message_id="01",
            tags='["vip-club"]',
            to_addresses=addresses(("Ann", "ann@c.test")),
            bcc_addresses=addresses(("", "hidden@d.test")),
            body="sale of the spring",
        )
        self.box.mailbox.set_unread([news], False)

    def find(self, query: str) -> str:
        rows = self.box.mailbox.index.search(conditions_of(query), 10)
        return "".join(row.subject[0] for row in reversed(rows))


PIECES = [
    *("to:", "from:", "cc:", "tag:", "is:", "has:", "before:", "after:", "larger:", "inbox:"),
    *("subject:", "message-id:", "addressed:", "subaccount:", "x:", "unread", "read", "10k", "7"),
    *("2026-11-22", "9999-12-31T23:59:59-12:00", "attachment", "subaccount:7", "vip", "pdf"),
    *('"', " ", "-", "!", "*", "ann", "sale", "a.test", "%", "_", "[", "?", "\\", "\n", "ß", "."),
]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    return Searched(tmp_path_factory.mktemp("mailbox"))


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        ("", "BON"),
        ("to:ANN", "BN"),
        ("to:b.test", "B"),
        ('to:"b.test"', ""),
        ('to:"ANN@b.test"', "B"),
        ("to:*@c.test", "ON"),
        ("to:a*t", "BN"),
        ("-to:ann", "O"),
        ("from:shop", "BO"),
        ('from:"shop@a.test"', "BO"),
        ('from:"verp@x.test"', "BON"),
        ("from:shop*a.test", "BO"),
        ("from:shop*x.test", ""),
        ("To:ANN -From:news", "B"),
        ("!to:ann", "O"),
        ("to:*@d.test", "N"),
        ("to:hidden", "N"),
        ('to:"ann@c.test, hidden@d.test"', ""),
        ("cc:cecil", "B"),
        ("cc:lüders", "B"),
        ("cc:cc@c.test", "B"),
        ("-cc:cc@c.test", "ON"),
        ("bcc:hidden", "N"),
        ("bcc:ann", ""),
        ("reply-to:answers", "O"),
        ("message-id:BILL@", "B"),
        ('message-id:"1.bill@a.test"', "B"),
        ("message-id:*@a.test", "B"),
        ("addressed:hidden", "N"),
        ("addressed:answers", "O"),
        ("-addressed:answers", "BN"),
        ("has:inline", "O"),
        ("is:tagged", "BN"),
        ("-is:tagged", "O"),
        ("tag:may", "B"),
        ("inbox:offers", "O"),
        ("inbox:Offers", ""),
        ("inbox:subaccount:7", "O"),
        ("inbox:subaccount:8", ""),
        ('inbox:""', "BN"),
        ("larger:1", "BON"),
        ("larger:1kb", ""),
        ("smaller:0.5m", "BON"),
        ("bill.pdf", "B"),
        ("after:2001/02/03 before:31.12.2999", "BON"),
        ("subject:may", "B"),
        ('subject:"bill of may"', "B"),
        ('subject:"bill"', ""),
        ("tag:vip", "BN"),
        ('tag:"vip"', "B"),
        ("tag:vip*", "BN"),
        ("-tag:vip", "O"),
        ("subaccount:7", "O"),
        ("subaccount:0", "N"),
        ("has:attachment", "B"),
        ("-has:attachment", "ON"),
        ("is:unread", "BO"),
        ("is:read", "N"),
        ("before:2001-01-01", ""),
        ("after:2001-01-01", "BON"),
        ("after:2001-01-01T10:00:00Z before:2999-12-31T00:00+01:00", "BON"),
        ("SALE", "ON"),
        ('"spring sale"', "O"),
        ("spring sale", "ON"),
        ("sale -offer", "N"),
        ("ann@b.test", "B"),
        ("http://a", ""),
        ("%", ""),
    ],
)
def test_operators_choose_messages(searched: Searched, query: str, subjects: str) -> None:
    assert searched.find(query) == subjects


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("is:old", "is: takes"),
        ("has:nothing", "has: takes"),
        ("before:yesterday", "before: and after:"),
        ("after:", "after: needs a value"),
        ("subaccount:x", "id of a subaccount"),
        ("larger:huge", "take a size"),
        ("inbox:", "inbox: needs a value"),
        ('colour:"red"', "no operator colour:"),
        ('"no end', "cannot read"),
        ("a " * (MAX_TERMS + 1), "at most"),
    ],
)
def test_a_search_that_cannot_be_read_is_refused(query: str, reason: str) -> None:
    with pytest.raises(BadQuery, match=reason):
        conditions_of(query)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [("a*b", "ab"), ("a*b", "a-b"), ("*", ""), ("a*b*c", "a1b2c"), ("*b*", "abc"), ("a", "a")],
)
def test_an_asterisk_stands_for_any_characters_of_a_line(pattern: str, line: str) -> None:
    assert matches_line(f"x\n{line}\ny", pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("a*b", "a\nb"), ("aa*aa", "aaa"), ("a*b", "xab"), ("a*", "xa"), ("a", "ab")],
)
def test_a_pattern_is_of_a_whole_line(pattern: str, text: str) -> None:
    assert not matches_line(text, pattern)


def test_no_pattern_takes_long() -> None:
    assert_linear(lambda text: matches_line(text, "*a*a*a*a*a*a*a*b*"), "a" * 40_000)


def test_a_message_without_details_is_in_no_search_that_needs_them(tmp_path: Path) -> None:
    box = SinkMailbox(tmp_path)
    box.add("", "ann@b.test", b"From: a@a.test\r\nSubject: Hello\r\n\r\n")
    assert box.index.search(conditions_of("hello"), 10) == []
    assert len(box.index.search(conditions_of("subject:hello"), 10)) == 1


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_search_is_read_or_refused(query: str) -> None:
    try:
        conditions = conditions_of(query, tz="Europe/Berlin")
    except BadQuery:
        return
    assert len(conditions) <= MAX_TERMS


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_what_can_be_read_can_be_searched(searched: Searched, query: str) -> None:
    try:
        conditions = conditions_of(query)
    except BadQuery:
        return
    index = searched.box.mailbox.index
    messages, unread = index.count(conditions)
    rows = index.search(conditions, 10)
    assert (messages, unread) == (len(rows), sum(row.unread for row in rows))
    assert [row.uid for row in rows] == index.uids(conditions)[::-1]


def test_many_asterisks_take_no_time(tmp_path: Path) -> None:
    box = SearchedBox(tmp_path)
    box.add(subject="a" * 5000)
    index = box.mailbox.index
    assert_linear(lambda text: index.count(conditions_of(f"subject:{text}")), "*a" * 400 + "*b")


def test_a_time_without_an_offset_is_of_the_time_zone() -> None:
    assert moment_of("2026-11-22T12:00", "Europe/Berlin") == moment_of("2026-11-22T11:00Z")
    assert moment_of("2026-11-22T12:00", "No/Where") == moment_of("2026-11-22T12:00Z")
    assert moment_of("1764000000") == moment_of("2025-11-24T16:00:00Z")
    assert moment_of("0001-01-01", "Asia/Tokyo") is None
    assert moment_of("9999-12-31T23:59:59-12:00") is None
