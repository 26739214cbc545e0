"""Every search key of RFC 3501 finds the messages that it should."""

from __future__ import annotations

import imaplib
import time
from datetime import UTC, datetime, timedelta

import pytest

from infrastructure.local.mail_readers import imap_fetch
from tests.unit.infrastructure.local.mail_readers.conftest import Post
from tests.unit.infrastructure.local.mail_readers.messages import ENCODED, MIXED, PLAIN
from tests.unit.infrastructure.local.mail_readers.test_imap_session import logged_in

NOW = datetime.now(UTC)


def day(offset: int) -> str:
    """Return a day from today as IMAP writes it."""
    moment = NOW + timedelta(days=offset)
    return f"{moment.day}-{imap_fetch._MONTHS[moment.month - 1]}-{moment.year}"


@pytest.mark.parametrize(
    ("search", "positions"),
    [
        ("ALL", "1 2 3"),
        ("ANSWERED", ""),
        ("UNANSWERED", "1 2 3"),
        ("FLAGGED", "2"),
        ("UNFLAGGED", "1 3"),
        ("SEEN", "1"),
        ("UNSEEN", "2 3"),
        ("DELETED", ""),
        ("UNDELETED DRAFT", ""),
        ("UNDRAFT", "1 2 3"),
        ("NEW", ""),
        ("OLD", "1 2 3"),
        ("RECENT", ""),
        ("KEYWORD $Junk", ""),
        ("UNKEYWORD $Junk", "1 2 3"),
        (f"ON {day(0)}", "1 2 3"),
        (f"SINCE {day(0)}", "1 2 3"),
        (f"SINCE {day(1)}", ""),
        (f'BEFORE "{day(0)}"', ""),
        (f"BEFORE {day(1)}", "1 2 3"),
        ("BEFORE 1-Jan-1900", ""),
        ("SENTON 2-Nov-2026", "1"),
        ("SENTBEFORE 2-Nov-2026", ""),
        ("SENTBEFORE 3-Nov-2026", "1"),
        ("SENTSINCE 2-Nov-2026", "1"),
        (f"LARGER {len(MIXED)}", "3"),
        (f"SMALLER {len(MIXED)}", "1 2"),
        ("FROM ann", "1 3"),
        ("FROM ANN@A.TEST", "1 3"),
        ("FROM me@a.test", ""),
        ("TO lee", "2"),
        ("CC x@b.test", "2"),
        ("BCC x@b.test", ""),
        ("SUBJECT hello", "1"),
        ('SUBJECT ""', "1 2 3"),
        ("HEADER Message-ID 1@a", "1"),
        ('HEADER Cc ""', "2"),
        ("BODY dear", "1"),
        ("BODY subject", ""),
        ("TEXT subject", ""),
        ("TEXT hello", "1"),
        ("TEXT ann", "1 3"),
        ("2", "2"),
        ("2:*", "2 3"),
        ("*", "3"),
        ("UID 1,3:9", "1 3"),
        ("NOT SEEN", "2 3"),
        ("NOT (SEEN)", "2 3"),
        ("OR SEEN FLAGGED", "1 2"),
        ("OR (BODY one UNSEEN) NOT BODY e", "3"),
        ("FROM ann UNSEEN 1:3", "3"),
        ("CHARSET US-ASCII SUBJECT PARTS", "3"),
    ],
)
def test_a_key_finds_its_messages(post: Post, search: str, positions: str) -> None:
    assert found_by(post, search) == positions


def found_by(post: Post, search: str | bytes) -> str:
    """Search three messages, the first of which is seen and the second flagged."""
    first, _, _ = post.add(PLAIN, ENCODED, MIXED)
    post.mailbox.set_unread([first], False)
    with logged_in(post) as client:
        client.select()
        client.store("2", "+FLAGS", "\\Flagged")
        status, data = client.search(None, search)  # type: ignore[arg-type]
        assert status == "OK"
        return data[0].decode()


@pytest.mark.parametrize("key", ["SUBJECT", "FROM", "BODY", "TEXT"])
def test_texts_are_compared_decoded(post: Post, key: str) -> None:
    texts = {"SUBJECT": "grüSSE", "FROM": "JÜRGEN", "BODY": "SCHÖNE", "TEXT": "straße"}
    post.add(PLAIN, ENCODED)
    with logged_in(post) as client:
        client.select()
        client.literal = texts[key].encode()  # type: ignore[attr-defined]
        assert client.uid("SEARCH", "CHARSET", "UTF-8", key) == ("OK", [b"2"])


def test_a_charset_that_is_not_known_is_named(post: Post) -> None:
    with logged_in(post) as client:
        client.select()
        status, data = client.search("KOI8-R", "ALL")
        assert (status, data[0][:12]) == ("NO", b"[BADCHARSET ")


def test_a_search_has_limits(post: Post) -> None:
    post.add(PLAIN)
    with logged_in(post) as client:
        client.select()
        for search in ("(" * 50 + "ALL" + ")" * 50, "ALL " * 600 + "ALL", "NOT " * 50 + "ALL"):
            with pytest.raises(imaplib.IMAP4.error, match="too long"):
                client.search(None, search)
        began = time.process_time()
        assert client.search(None, "OR " * 15 + "ALL " * 15 + "ALL")[1] == [b"1"]
        assert time.process_time() - began < 5
