"""Give tags to the messages that a search finds, when they arrive.

==================== ======= =======================================================================
MAILBOX_TAGS                 rules such as ``Invoices=subject:invoice; Shop,Test=from:shop@a.test``:
                             tags, and the search (in Mailpit's language) for what gets them
==================== ======= =======================================================================
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.query_terms import BadQuery
from infrastructure.local.mailbox.rows import Condition, Row
from infrastructure.local.mailbox.tags import unique_tags
from infrastructure.local.mailpit.query import mailpit_conditions_of
from infrastructure.local.messages.details import Detailer

# Semicolons in quotes are part of a search
_RULE = re.compile(r'(?:[^;"]|"[^"]*+"|"[^"]*+\Z)++')
_AT_ONCE = 200


class TagRule(NamedTuple):
    """Tags, and the conditions of the messages that get them."""

    tags: tuple[str, ...]
    conditions: tuple[Condition, ...]


class TagRules:
    """The rules, and how far the messages of the mailbox were looked at."""

    def __init__(self, mailbox: SinkMailbox, detailer: Detailer, rules: Sequence[TagRule]) -> None:
        self._mailbox = mailbox
        self._detailer = detailer
        self._rules = tuple(rules)
        self._lock = threading.Lock()
        # What came before was looked at then, by the rules of that time
        self._newest = mailbox.index.newest() if rules else 0

    def __bool__(self) -> bool:
        """Tell whether there are rules."""
        return bool(self._rules)

    def catch_up(self) -> None:
        """Tag the messages that came since the last call."""
        if not self._rules or self._mailbox.index.newest() == self._newest:
            return
        with self._lock:
            while rows := self._mailbox.index.rows_after(self._newest, _AT_ONCE):
                self._detailer.details([row.id for row in rows])
                self._tag(rows)
                self._newest = rows[-1].uid

    def _tag(self, rows: Sequence[Row]) -> None:
        uids = Condition("uid BETWEEN ? AND ?", (rows[0].uid, rows[-1].uid))
        tags: dict[str, list[str]] = {}
        for rule in self._rules:
            for message_id in self._mailbox.index.ids([*rule.conditions, uids]):
                tags.setdefault(message_id, []).extend(rule.tags)
        for row in rows:
            if row.id in tags:
                self._mailbox.set_tags(
                    row.id, unique_tags([*json.loads(row.given_tags), *tags[row.id]])
                )


def read_rules(environ: Mapping[str, str]) -> list[TagRule]:
    """Return the rules of ``MAILBOX_TAGS``; raises ValueError with one line for the user."""
    return list(_read(_RULE.findall(environ.get("MAILBOX_TAGS", ""))))


def _read(texts: Iterable[str]) -> Iterator[TagRule]:
    for text in texts:
        if not text.strip():
            continue
        names, equals, query = text.partition("=")
        tags = unique_tags(names.split(","))
        if not (tags and equals and query.strip()):
            raise ValueError(f"MAILBOX_TAGS: {text.strip()!r} is no rule such as tag=search")
        try:
            conditions = mailpit_conditions_of(query.strip())
        except BadQuery as error:
            raise ValueError(f"MAILBOX_TAGS: {error}") from None
        if conditions:
            yield TagRule(tuple(tags), tuple(conditions))
