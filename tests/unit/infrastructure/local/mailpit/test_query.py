"""Search the mailbox in the language of Mailpit, and random ones by a plain filter as well."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infrastructure.local.mailbox import search
from infrastructure.local.mailbox.query_terms import BadQuery
from infrastructure.local.mailpit.query import mailpit_conditions_of
from tests.unit.infrastructure.local.mailbox.searched_box import SearchedBox, addresses


@dataclass
class Mail:
    """A message as the filter knows it; times are the hours of a day."""

    subject: str
    froms: str
    tos: str
    ccs: str
    bccs: str
    reply_tos: str
    tags: list[str]
    body: str
    header_id: str
    attachments: int
    inlines: int
    unread: bool = True
    id: str = field(default="")


NAMES = ("Ann Lee", "Ben", "Cy Öz")
HOSTS = ("a.test", "b.test")
SUBJECTS = ("Bill of May", "Offer 100%", "News_letter", "größer")
BODIES = ("spring sale", "sale, of the (spring)", "Ann", "nothing")
TAGS = ("Vip", "test-1", "old")
TERMS = [
    *("to:ann", "TO:b.test", 'to:"ann lee"', "from:cy", "from:@a.test", "cc:ben", "bcc:ann"),
    *("reply-to:ben", "addressed:öz", "addressed:b.test", "subject:bill", 'subject:"of may"'),
    *("subject:100%", "subject:_", "tag:vip", "tag:VIP", "tag:vi", "tag:test-1", "is:read"),
    *("is:unread", "IS:tagged", "has:attachment", "has:attachments", "has:inline", "has:x"),
    *("message-id:1@", "message-id:<2@a.test>", "larger:1", "smaller:1k", "larger:x", "smaller:0"),
    *("sale", '"spring sale"', "SPRING", "ann", "größer", "to:", "subject:", "tag:", '"to:ann"'),
    *("after:2001-01-01", "before:2001-01-01", "after:never", "before:", "absent", '"of the"'),
]


def random_mail(numbers: random.Random) -> Mail:
    def people(most: int) -> str:
        return addresses(
            *((name, f"{name[:2].lower()}@{numbers.choice(HOSTS)}") for name in NAMES[:most])
        )

    return Mail(
        subject=numbers.choice(SUBJECTS),
        froms=people(1 + numbers.randrange(3)),
        tos=people(numbers.randrange(4)),
        ccs=people(numbers.randrange(3)),
        bccs=people(numbers.randrange(2)),
        reply_tos=people(numbers.randrange(3)),
        tags=numbers.sample(TAGS, numbers.randrange(3)),
        body=numbers.choice(BODIES).casefold(),
        header_id=f"{numbers.randrange(4)}@a.test",
        attachments=numbers.randrange(2),
        inlines=numbers.randrange(2),
        unread=numbers.random() < 0.5,
    )


def text_of(json_text: str) -> str:
    return " ".join(
        f"{each['Name']} {each['Address']}" for each in json.loads(json_text)
    ).casefold()


def matches(mail: Mail, term: str) -> bool | None:
    """Tell whether a message meets a term as Mailpit reads it; None if the term says nothing."""
    term = term.replace('"', "").casefold()
    columns = {name: text_of(getattr(mail, name)) for name in ADDRESSES.values()}
    name, colon, value = term.partition(":")
    if name in ADDRESSES:
        return value in columns[ADDRESSES[name]] if value else None
    if name == "addressed":
        return any(value in text for text in columns.values())
    if name == "subject" and colon:
        return value in mail.subject.casefold() if value else None
    if name == "tag":
        return value in [tag.casefold() for tag in mail.tags] if value else None
    if name == "message-id":
        return value.strip("<>") in mail.header_id
    if name in ("before", "after"):
        return None if value in ("", "never") else name == "after"
    simple = {
        "is:read": not mail.unread,
        "is:unread": mail.unread,
        "is:tagged": bool(mail.tags),
        "has:attachment": mail.attachments > 0,
        "has:attachments": mail.attachments > 0,
        "has:inline": mail.inlines > 0,
        "larger:1": True,
        "smaller:1k": True,
    }
    if term in simple:
        return simple[term]
    texts = (mail.subject, mail.body, ENVELOPE, *columns.values())
    return any(term in text.casefold() for text in texts)


ENVELOPE = "verp@x.test ann@b.test from: shop@a.test"
ADDRESSES = {"to": "tos", "from": "froms", "cc": "ccs", "bcc": "bccs", "reply-to": "reply_tos"}


class RandomBox:
    """A mailbox of random messages, and what the filter knows of them."""

    def __init__(self, root: Path, seed: int) -> None:
        numbers = random.Random(seed)
        self.box = SearchedBox(root)
        self.mails = [random_mail(numbers) for _ in range(40)]
        for mail in self.mails:
            mail.id = self.box.add(
                "shop@a.test",
                mail.subject,
                given_tags=mail.tags,
                from_addresses=mail.froms,
                to_addresses=mail.tos,
                cc_addresses=mail.ccs,
                bcc_addresses=mail.bccs,
                reply_to_addresses=mail.reply_tos,
                header_id=mail.header_id,
                body=mail.body,
                attachments=mail.attachments,
                inlines=mail.inlines,
            )
        self.box.mailbox.set_unread([each.id for each in self.mails if not each.unread], False)
        if seed % 2:
            self.box.build()


@pytest.fixture(scope="module", params=[1, 2])
def random_box(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RandomBox]:
    box = RandomBox(tmp_path_factory.mktemp("box"), request.param)
    yield box
    box.box.mailbox.close()


QUERIES = st.lists(st.tuples(st.sampled_from(["", "-", "!"]), st.sampled_from(TERMS)), max_size=4)


@given(QUERIES)
@settings(max_examples=300, deadline=None)
def test_searches_find_what_a_plain_filter_finds(
    random_box: RandomBox, terms: list[tuple[str, str]]
) -> None:
    def is_found(mail: Mail) -> bool:
        answers = ((bool(sign), matches(mail, term)) for sign, term in terms)
        return all(answer is None or answer != negated for negated, answer in answers)

    expected = [mail for mail in random_box.mails if is_found(mail)]
    index = random_box.box.mailbox.index
    conditions = mailpit_conditions_of(" ".join(sign + term for sign, term in terms))
    assert index.count(conditions) == (len(expected), sum(mail.unread for mail in expected))
    ids = [row.id for row in index.search(conditions, 100)]
    assert ids == [mail.id for mail in reversed(expected)]
    pages = [index.search(conditions, 3, offset=start) for start in range(0, len(ids), 3)]
    assert [row.id for page in pages for row in page] == ids
    assert index.search(conditions, 3, offset=len(ids)) == []


@given(st.text(max_size=80) | st.text('to:fromis"-! larger1kb', max_size=60))
def test_no_search_is_refused_but_one_of_too_many_terms(query: str) -> None:
    try:
        mailpit_conditions_of(query, tz="Pacific/Auckland")
    except BadQuery:
        assert len(query.split()) > 50


def test_a_search_of_too_many_terms_is_refused() -> None:
    with pytest.raises(BadQuery, match="at most 50"):
        mailpit_conditions_of("a " * 51)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('"spring sale', '"spring sale"'),
        ('sub"ject:a b"', '"subject:a b"'),
        ("SUBJECT:A", "subject:a"),
        ("  a   b ", "a b"),
        ("!a", "-a"),
        ("before:2026-11-22T12:00:00Z", "before:2026-11-22T13:00:00+01:00"),
        ("-before:2026-11-22", "after:2026-11-22"),
        ("larger:1k", "larger:1024"),
        ("larger:1.5MB", "larger:1572864"),
    ],
)
def test_searches_that_mean_the_same(first: str, second: str) -> None:
    assert mailpit_conditions_of(first) == mailpit_conditions_of(second)


def test_a_moment_is_included_by_before_and_after(tmp_path: Path) -> None:
    box = SearchedBox(tmp_path)
    message_id = box.add()
    milliseconds = int(message_id[:10]) * 1000 + int(message_id[12:15])
    second, rest = divmod(milliseconds, 1000)

    def number(query: str) -> int:
        return box.mailbox.index.count(mailpit_conditions_of(query))[0]

    moment = f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}"
    assert number(f"before:{moment}") == number(f"after:{moment}") == 1
    assert number(f"-before:{moment}") == 1
    assert number("before:2001-01-01") == number("-after:2001-01-01") == 0


def test_a_search_with_many_terms_leaves_the_index_to_others_after_each_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = SearchedBox(tmp_path)
    for number in range(9):
        box.add(subject=f"Message {number % 3}", header_id=f"{number}@a.test")
    index = box.mailbox.index
    conditions = mailpit_conditions_of("subject:message -subject:1 message-id:a.test")
    expected = (
        [
            index.search(conditions, limit, offset=offset)
            for limit in (1, 4, 99)
            for offset in (0, 2, 5)
        ],
        index.count(conditions),
        index.uids(conditions),
        len(index.ids(conditions, 4)),
    )
    monkeypatch.setattr(search, "_FEW_VALUES", 2)
    monkeypatch.setattr(search, "BLOCK_BITS", 1)
    monkeypatch.setattr(search, "BLOCK_SIZE", 2)
    assert len(list(index._search._sources(conditions))) == 5
    assert expected == (
        [
            index.search(conditions, limit, offset=offset)
            for limit in (1, 4, 99)
            for offset in (0, 2, 5)
        ],
        index.count(conditions),
        index.uids(conditions),
        len(index.ids(conditions, 4)),
    )
