"""Load the phrases that refusing hosts write, and the bounce class of each, from a data file.

``reply_rules.json`` holds:

- ``rules``: the first rule with a phrase in the reply decides, so particular rules stand above
  general ones ("mailbox full" above "mailbox unavailable", a block list's name above "access
  denied"). A phrase is literal lower-case text in which `` .. `` stands for a gap of up to ``GAP``
  characters. Nothing in it repeats without bound, so a search takes time linear in the reply.
- For replies that no rule matches, or only one of class 40, which names no cause:
  ``enhanced_codes``, the class by subject and detail of the enhanced status code (RFC 3463, RFC
  5248); ``subjects``, the class by its subject alone, where the detail says nothing more.
- For what is still without a class: ``reply_codes``, the class by the reply code (RFC 5321 4.2).

The file is read when the first reply is classified: most processes never classify one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from chalicelib.core.bounce_classes import BOUNCE_CLASSES

GAP = 40
"""The most characters that `` .. `` in a phrase stands for."""

_FILE = Path(__file__).with_suffix(".json")


class InvalidRules(ValueError):
    """The data file breaks one of its rules; the text says which."""


@dataclass(frozen=True)
class Rule:
    """Phrases that put a reply into ``bounce_class``."""

    bounce_class: int
    about: str
    phrases: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Any of the phrases; compiled when it is first needed."""
        return re.compile("|".join(map(_expression, self.phrases)))


@dataclass(frozen=True, slots=True)
class ReplyRules:
    """The content of the data file."""

    rules: tuple[Rule, ...]
    enhanced_codes: Mapping[str, int]
    subjects: Mapping[str, int]
    reply_codes: Mapping[int, int]


@cache
def reply_rules() -> ReplyRules:
    """Return the rules of the data file, read once; raises :class:`InvalidRules`."""
    return parse(_FILE.read_text(encoding="utf-8"))


def parse(text: str) -> ReplyRules:
    """Read and check rules; raises :class:`InvalidRules`.

    Every bounce class must be known, and every phrase must be lower-case text that occurs in the
    file once.
    """
    data = json.loads(text, object_pairs_hook=_without_duplicates)
    rules = tuple(
        Rule(rule["class"], rule["about"], tuple(rule["phrases"])) for rule in data["rules"]
    )
    codes = (data["enhanced_codes"], data["subjects"], data["reply_codes"])
    _check_classes([rule.bounce_class for rule in rules])
    _check_phrases(rules)
    for classes in codes:
        _check_classes(classes.values())
    enhanced_codes, subjects, reply_codes = codes
    return ReplyRules(
        rules, enhanced_codes, subjects, {int(code): each for code, each in reply_codes.items()}
    )


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = Counter(key for key, _ in pairs)
    if len(keys) < len(pairs):
        raise InvalidRules(f"{keys.most_common(1)[0][0]!r} stands in one object twice")
    return dict(pairs)


def _check_classes(classes: Any) -> None:
    if unknown := [number for number in classes if number not in BOUNCE_CLASSES]:
        raise InvalidRules(f"{unknown[0]!r} is no bounce class")


def _check_phrases(rules: tuple[Rule, ...]) -> None:
    phrases = Counter(phrase for rule in rules for phrase in rule.phrases)
    for phrase, times in phrases.items():
        if times > 1:
            raise InvalidRules(f"{phrase!r} stands in the file {times} times")
        if phrase != phrase.strip().lower() or not phrase.replace(" .. ", ""):
            raise InvalidRules(f"{phrase!r} is not lower-case text")
    if empty := [rule.about for rule in rules if not rule.phrases]:
        raise InvalidRules(f"{empty[0]!r} has no phrase")


def _expression(phrase: str) -> str:
    """Return a phrase as a regular expression that matches only from the start of a word."""
    parts = map(re.escape, phrase.split(" .. "))
    return (r"\b" if phrase[0].isalnum() else "") + f".{{0,{GAP}}}?".join(parts)
