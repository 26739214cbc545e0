"""The rules of the data file are valid, and its loader refuses invalid ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.core.bounce_classes import BOUNCE_CLASSES
from chalicelib.delivery.reply_rules import InvalidRules, parse, reply_rules

VALID: dict[str, Any] = {
    "rules": [
        {"class": 22, "about": "full", "phrases": ["mailbox full", "over .. quota"]},
        {"class": 10, "about": "unknown", "phrases": ["user unknown"]},
    ],
    "enhanced_codes": {"1.1": 10},
    "subjects": {"7": 50},
    "reply_codes": {"552": 22},
}


def rules_with(*phrases: str, bounce_class: int = 10) -> str:
    rule = {"class": bounce_class, "about": "test", "phrases": phrases}
    return json.dumps(VALID | {"rules": [*VALID["rules"], rule]})


def test_the_data_file_is_valid() -> None:
    rules = reply_rules()
    assert len(rules.rules) > 20
    assert set(rules.reply_codes.values()) < set(BOUNCE_CLASSES)


def test_no_pattern_matches_an_empty_reply() -> None:
    for rule in reply_rules().rules:
        assert rule.pattern.search("") is None, rule.about


def test_rules_are_read_in_their_order() -> None:
    rules = parse(json.dumps(VALID))
    assert [rule.bounce_class for rule in rules.rules] == [22, 10]
    assert (rules.enhanced_codes, rules.subjects) == ({"1.1": 10}, {"7": 50})
    assert rules.reply_codes == {552: 22}


def test_two_dots_stand_for_a_bounded_gap() -> None:
    pattern = parse(json.dumps(VALID)).rules[0].pattern
    assert pattern.search("over the quota")
    assert pattern.search("over" + " " * 40 + "quota")
    assert not pattern.search("over" + " " * 41 + "quota")


def test_a_phrase_begins_where_a_word_does() -> None:
    pattern = parse(json.dumps(VALID)).rules[0].pattern
    assert not pattern.search("moreover the quota")


@pytest.mark.parametrize("phrase", ["", " ", "Upper Case", " leading", "trailing ", " .. "])
def test_a_phrase_must_be_lower_case_text(phrase: str) -> None:
    with pytest.raises(InvalidRules, match="lower-case"):
        parse(rules_with(phrase))


def test_a_phrase_stands_in_the_file_once() -> None:
    with pytest.raises(InvalidRules, match="'user unknown' stands in the file 2 times"):
        parse(rules_with("no such user", "user unknown"))


def test_a_rule_needs_a_phrase() -> None:
    with pytest.raises(InvalidRules, match="'test' has no phrase"):
        parse(rules_with())


def test_every_class_must_be_known() -> None:
    with pytest.raises(InvalidRules, match="11 is no bounce class"):
        parse(rules_with("no such user", bounce_class=11))
    for name in ("enhanced_codes", "subjects", "reply_codes"):
        with pytest.raises(InvalidRules, match="11 is no bounce class"):
            parse(json.dumps(VALID | {name: {"5": 11}}))


def test_a_code_stands_in_the_file_once() -> None:
    text = json.dumps(VALID).replace('"552": 22', '"552": 22, "552": 23')
    with pytest.raises(InvalidRules, match="'552' stands in one object twice"):
        parse(text)
