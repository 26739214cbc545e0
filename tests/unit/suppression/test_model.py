from __future__ import annotations

from typing import Any

import pytest

from chalicelib.suppression.model import (
    KINDS,
    LONGEST_DESCRIPTION,
    SOURCES,
    SuppressionKind,
    is_list_id,
    new_entry,
)
from tests.unit.suppression.examples import entry


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
    ("fields", "text"),
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
def test_an_entry_with_an_invalid_field_is_refused(fields: dict[str, Any], text: str) -> None:
    good = {"recipient": "a@x.test", "type": "transactional", "source": "Compliance"}
    new_entry(**good)
    with pytest.raises(ValueError, match=text):
        new_entry(**{**good, **fields})


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
    assert entry("a@x.test").kind == SuppressionKind("non_transactional", False)
    assert entry("a@x.test", list_id="news").kind == SuppressionKind("non_transactional", True)
    assert len({str(kind) for kind in KINDS}) == len(KINDS) == 5
