"""The links of List-Unsubscribe are read, and its faults named."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.mailpit.list_unsubscribe import list_unsubscribe


@pytest.mark.parametrize(
    ("field", "links", "error"),
    [
        ("<https://a.test/x>", ["https://a.test/x"], ""),
        ("(one) <mailto:a@b.c>,\t<HTTP://a.test>", ["mailto:a@b.c", "HTTP://a.test"], ""),
        ("https://a.test", [], "no valid unsubscribe links found"),
        ("x <https://a.test>", [], "should be enclosed in <>"),
        ("<https://a.test> <mailto:a@b.c>", [], "should be split with a comma"),
        ("<https://a.test>, <https://b.test>", ["https://a.test"], "should only contain one HTTP"),
        ("<https://a.test/a b>", [], "should not contain spaces"),
        ("<ftp://a.test>", [], "should start with either"),
        ("<mailto:a@b.c>,<http://a>,<http://b>", [], "a maximum of one email and one HTTP link"),
    ],
)
def test_links_and_faults(field: str, links: list[str], error: str) -> None:
    view = list_unsubscribe(field, "One-Click")
    assert (view["Links"], view["Header"], view["HeaderPost"]) == (links, field, "One-Click")
    assert error in view["Errors"]
    assert bool(view["Errors"]) == bool(error)


@given(st.text(alphabet="<>(), mailto:http/@."))
def test_any_field_can_be_read(field: str) -> None:
    view = list_unsubscribe(field, "")
    assert len(view["Links"]) <= 2


@pytest.mark.parametrize("piece", ["(", "<", "<>", "()", "<(>,"])
def test_a_field_of_a_stranger_takes_linear_time(piece: str) -> None:
    began = time.process_time()
    list_unsubscribe(piece * 100_000, "")
    assert time.process_time() - began < 1
