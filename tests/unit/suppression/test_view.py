from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core import clock
from chalicelib.suppression.view import entry_view
from tests.unit.suppression.examples import entry


@pytest.mark.spec("2.9-t1")
@pytest.mark.spec("2.9-t2")
@pytest.mark.spec("2.9-t4")
@pytest.mark.spec("2.9-t6")
def test_an_entry_is_shown_with_its_dates_and_without_what_it_does_not_have() -> None:
    with clock.use(lambda: 1_769_850_300.9):
        new = entry("Ann@Example.test", "transactional")
    assert entry_view(new) == {
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
    new = replace(entry("a@x.test", type, description="why"), subaccount_id=7)
    view = entry_view(new)
    assert (view["transactional"], view["non_transactional"]) == flags
    assert (view["description"], view["subaccount_id"]) == ("why", 7)
    assert "list_id" not in view
