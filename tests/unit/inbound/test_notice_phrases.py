"""The phrases by which notices announce a copy of the message."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

from chalicelib.inbound import mime, notice_phrases
from chalicelib.inbound.own_words import own_words
from tests.unit.inbound.notices import notice

DATA = json.loads(Path(notice_phrases.__file__).with_suffix(".json").read_text("utf-8"))
HEADINGS = [phrase for phrases in DATA["copy_headings"].values() for phrase in phrases]


def words(text: str) -> str:
    return own_words(mime.read(notice(text).encode()), "ann@inbox.test")


def test_every_heading_announces_a_copy() -> None:
    for heading in (*HEADINGS, *DATA["copy_titles"], *DATA["copy_beginnings"]):
        for line in (heading, f"{heading.title()}:", f"----- {heading.upper()} -----"):
            assert words(f"Own words.\n\n{line}\nNot own.") == "Own words.\n", line


def test_every_attribution_announces_a_quotation() -> None:
    for attribution in DATA["attributions"]:
        assert words(f"Own words.\n\nOn Monday, Bob {attribution}:\nNot own.") == "Own words.\n"


def test_every_pair_of_fields_begins_a_copy() -> None:
    names = [name for fields in DATA["fields"].values() for name in fields]
    for first, second in pairwise(names):
        text = f"Own words.\n\n{first.title()}: a\n{second}： b\n\nNot own."
        assert words(text) == "Own words.\n", (first, second)


def test_phrases_are_in_lower_case_and_occur_once() -> None:
    lists = (HEADINGS, *(DATA["fields"].values()), DATA["attributions"], DATA["copy_titles"])
    phrases = Counter(phrase for each in lists for phrase in set(each))
    assert [phrase for phrase in phrases if phrase != phrase.lower().strip()] == []
    assert max(Counter(HEADINGS).values()) == 1
