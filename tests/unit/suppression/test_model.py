from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.suppression.model import (
    KINDS,
    LONGEST_DESCRIPTION,
    SOURCES,
    Kind,
    is_list_id,
    new_entry,
)
from tests.unit.suppression.examples import entry


@pytest.mark.spec("2.9-t1")
@pytest.mark.spec("2.9-t2")
@pytest.mark.spec("2.9-t4")
@pytest.mark.spec("2.9-t6")
def test_an_entry_is_shown_with_its_dates_and_without_what_it_does_not_have() -> None:
    with clock.use(lambda: 1_769_850_300.9):
        made = entry("Ann@Example.test", "transactional")
    assert made.as_json() == {
        "recipient": "ann@example.test",
        "type": "transactional",
        "source": "Manually Added",
        "created": "2026-01-31T09:05:00+00:00",
        "updated": "2026-01-31T09:05:00+00:00",
        "transactional": True,
        "non_transactional": False,
    }


@pytest.mark.spec("2.9-t7")
@pytest.mark.spec("2.9-t8")
@pytest.mark.spec("9-r2")
@pytest.mark.parametrize(
    ("type", "flags"),
    [
        ("transactional", (True, False)),
        ("non_transactional", (False, True)),
        ("open_tracking", (False, False)),
    ],
)
def test_the_deprecated_flags_follow_from_the_type(type: str, flags: tuple[bool, bool]) -> None:
    made = replace(entry("a@x.test", type, description="why"), subaccount_id=7)
    shown = made.as_json()
    assert (shown["transactional"], shown["non_transactional"]) == flags
    assert (shown["description"], shown["subaccount_id"]) == ("why", 7)
    assert "list_id" not in shown


@pytest.mark.spec("2.9-t5")
@pytest.mark.parametrize(
    ("list_id", "valid"),
    [
        ("news", True),
        ("weekly_news-2.example.com", True),
        ("a" * 255, True),
        ("a" * 256, False),
        ("", False),
        (".news", False),
        ("news.", False),
        ("a..b", False),
        ("news letter", False),
        ("news\n", False),
        ("nëws", False),
        ("<news>", False),
    ],
)
def test_a_list_id_has_the_syntax_of_rfc_2919(list_id: str, valid: bool) -> None:
    assert is_list_id(list_id) == valid


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"recipient": "nobody"}, "valid email address"),
        ({"type": "all"}, "'transactional', 'non_transactional', 'open_tracking'"),
        ({"type": ["transactional"]}, "Type must be one of"),
        ({"source": "bounce rule"}, "Source must be one of"),
        ({"list_id": "a b"}, "list_id must be"),
        ({"list_id": ""}, "list_id must be"),
        ({"list_id": "news", "type": "open_tracking"}, "not allowed for type 'open_tracking'"),
        ({"description": "é" * (LONGEST_DESCRIPTION // 2 + 1)}, "description can have at most"),
    ],
)
def test_what_cannot_be_an_entry_is_refused(given: dict[str, Any], text: str) -> None:
    good = {"recipient": "a@x.test", "type": "transactional", "source": "Compliance"}
    new_entry(**good)
    with pytest.raises(ValueError, match=text):
        new_entry(**{**good, **given})


@pytest.mark.spec("2.9-t3")
def test_the_sources_are_those_of_the_specification() -> None:
    assert set(SOURCES) == {
        "Spam Complaint",
        "List Unsubscribe",
        "Bounce Rule",
        "Unsubscribe Link",
        "Manually Added",
        "Compliance",
        "Tracking Consent Revoked",
    }


def test_an_entry_for_one_mailing_list_is_of_another_kind_than_an_account_wide_one() -> None:
    assert entry("a@x.test").kind == Kind("non_transactional", False)
    assert entry("a@x.test", list_id="news").kind == Kind("non_transactional", True)
    assert len({str(kind) for kind in KINDS}) == len(KINDS) == 5
