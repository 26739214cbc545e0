"""Store rules by which the sink fails on purpose: at a step of SMTP, for addresses like a pattern.

The rules are in SQLite in the mailbox's directory, so that they outlive a restart. A change by
another process is in force for the next connection or message. A rule that has applied ``times``
often rests.
"""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from infrastructure.local.mailbox.rows import matches_line
from infrastructure.local.mailbox.search_texts import lines_of, searched_forms

CONNECT, MAIL, RCPT, DATA, DOT = STEPS = ("connect", "mail", "rcpt", "data", "dot")
# Looking for changes at each step would be a tenth of the sink's work
_READ_AT = frozenset({CONNECT, MAIL})
MOST_RULES = 200
FILE = "failures.sqlite3"


@dataclass(frozen=True, slots=True)
class FailureRule:
    """One rule.

    ``pattern`` is a whole address, in which ``*`` stands for any characters: the envelope sender at
    ``mail``, a recipient at the steps after it; nothing is known of either at ``connect``. ``code``
    is that of the reply: 250 goes on after the delay, ``None`` closes the connection without a
    reply. ``delay`` is in seconds. ``times`` is how often the rule applies, ``None`` for always,
    and ``percent`` the chance that it does.
    """

    id: int
    pattern: str
    step: str
    code: int | None
    text: str
    delay: float
    times: int | None
    percent: int
    enabled: bool
    applied: int = 0

    @property
    def reply(self) -> str:
        """The reply that refuses, empty if there is none."""
        return f"{self.code} {self.text}" if self.code is not None and self.code >= 400 else ""


_NAMES = tuple(field.name for field in fields(FailureRule))
_COLUMNS = ",".join(_NAMES)


class FailureRules:
    """The rules, in the order in which they were added. Any thread may call it."""

    def __init__(self, path: Path, chance: Callable[[], float] = random.random) -> None:
        """`chance` returns a number from 0 to 1, excluding it."""
        self._chance = chance
        self._lock = threading.Lock()
        self._version = -1
        self._rules: list[FailureRule] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(
            path, isolation_level=None, timeout=30, check_same_thread=False
        )
        self._database.execute("PRAGMA journal_mode=WAL")
        columns = ",".join(_NAMES[1:])
        self._database.execute(
            f"CREATE TABLE IF NOT EXISTS rules (id INTEGER PRIMARY KEY AUTOINCREMENT, {columns})"
        )

    def all(self) -> list[FailureRule]:
        """Return all rules."""
        with self._lock:
            return self._read()

    def get(self, rule_id: int) -> FailureRule | None:
        """Return a rule."""
        return next((rule for rule in self.all() if rule.id == rule_id), None)

    def add(self, rule: FailureRule) -> FailureRule:
        """Add a rule, whose id is chosen here."""
        names, marks = ",".join(_NAMES[1:]), ",".join("?" * (len(_NAMES) - 1))
        values = [getattr(rule, name) for name in _NAMES[1:]]
        with self._lock:
            query = f"INSERT INTO rules ({names}) VALUES ({marks}) RETURNING {_COLUMNS}"
            rows = self._database.execute(query, values).fetchall()
            self._version = -1
        return _rule(rows[0])

    def replace(self, rule: FailureRule) -> None:
        """Replace the rule of the same id."""
        with self._lock:
            self._database.execute(
                f"UPDATE rules SET {','.join(f'{name} = ?' for name in _NAMES[1:])} WHERE id = ?",
                [*(getattr(rule, name) for name in _NAMES[1:]), rule.id],
            )
            self._version = -1

    def delete(self, rule_id: int | None = None) -> int:
        """Delete a rule, or all; return how many."""
        with self._lock:
            self._version = -1
            query = "DELETE FROM rules WHERE ? IS NULL OR id = ?"
            return self._database.execute(query, (rule_id, rule_id)).rowcount

    def apply(self, step: str, addresses: Sequence[str] = ("",)) -> FailureRule | None:
        """Return the first rule that applies at a step to one of the addresses, and count it."""
        with self._lock:
            if step in _READ_AT or self._version == -1:
                self._read_changes()
            for rule in self._rules:
                if not rule.enabled or rule.step != step or not _matches(rule, addresses):
                    continue
                if self._chance() * 100 < rule.percent and self._count(rule):
                    return rule
        return None

    def close(self) -> None:
        """Close the file; the rules cannot be used afterwards."""
        with self._lock:
            self._database.close()

    def _read_changes(self) -> None:
        """Read the rules again if this process or another one has changed them."""
        version = self._database.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._rules, self._version = self._read(), version

    def _read(self) -> list[FailureRule]:
        rows = self._database.execute(f"SELECT {_COLUMNS} FROM rules ORDER BY id")
        return [_rule(row) for row in rows]

    def _count(self, rule: FailureRule) -> bool:
        """Count that a rule applies; False if it has applied often enough."""
        query = (
            "UPDATE rules SET applied = applied + 1"
            " WHERE id = ? AND (times IS NULL OR applied < times)"
        )
        return self._database.execute(query, (rule.id,)).rowcount == 1


def _rule(row: Sequence[object]) -> FailureRule:
    rule = FailureRule(*row)  # type: ignore[arg-type]
    return replace(rule, enabled=bool(rule.enabled))


def _matches(rule: FailureRule, addresses: Sequence[str]) -> bool:
    forms = searched_forms(rule.pattern)
    return any(matches_line(lines_of(each), form) for each in addresses for form in forms)
