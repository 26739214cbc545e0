"""Search the mailbox with operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.sink.mailbox import SinkMailbox
from infrastructure.local.sink.mailbox_query import MAX_TERMS, BadQuery, conditions_of
from infrastructure.local.sink.mailbox_rows import Details, matches_line
from tests.unit.linear_time import assert_linear


def message(sender: str, subject: str) -> bytes:
    return f"From: {sender}\r\nSubject: {subject}\r\n\r\n".encode()


def details(row_id: str, **fields: object) -> Details:
    values = dict.fromkeys(Details._fields, "[]") | {"header_id": "", "message_id": "", "body": ""}
    values |= {
        "id": row_id,
        "attachments": 0,
        "inlines": 0,
        "subaccount_id": 0,
        "unusual": 0,
    } | fields
    return Details(**values)  # type: ignore[arg-type]


class Searched:
    """A mailbox with three messages; a search returns the first letters of their subjects."""

    def __init__(self, root: Path) -> None:
        self.box = SinkMailbox(root)
        add = self.box.add
        bill = add("verp@x.test", "ann@b.test", message("Shop <shop@a.test>", "Bill of May"))
        offer = add("verp@x.test", "ben@c.test", message("Shop <shop@a.test>", "Offer"))
        news = add("verp@y.test", "ann@c.test", message("News <news@a.test>", "News"))
        self.box.index.add_details(
            [
                details(bill, attachments=1, tags='["VIP", "May"]', body="please pay 7 euro"),
                details(offer, message_id="00", subaccount_id=7, body="spring sale"),
                details(news, message_id="01", tags='["vip-club"]', body="sale of the spring"),
            ]
        )
        self.box.set_unread([news], False)

    def find(self, query: str) -> str:
        rows = self.box.index.search(conditions_of(query), 10)
        return "".join(row.subject[0] for row in reversed(rows))


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
        ('from:"verp@y.test"', "N"),
        ("from:shop*a.test", "BO"),
        ("from:shop*x.test", ""),
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
    box.add("", "ann@b.test", message("a@a.test", "Hello"))
    assert box.index.search(conditions_of("hello"), 10) == []
    assert len(box.index.search(conditions_of("subject:hello"), 10)) == 1
