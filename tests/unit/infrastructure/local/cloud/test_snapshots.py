from __future__ import annotations

import json
import sys
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ministack.core import persistence
from ministack.core.responses import AccountRegionScopedDict, AccountScopedDict

from infrastructure.local.cloud.snapshots import deploying, encoded

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=60)
@given(JSON, st.integers(0, 8))
def test_encoded_pieces_join_to_the_same_json_at_any_depth(value: Any, depth: int) -> None:
    assert json.loads("".join(encoded(value, depth))) == json.loads(json.dumps(value))


def test_values_that_json_lacks_are_encoded_as_by_ministack() -> None:
    scoped = AccountRegionScopedDict()
    scoped.set_scoped("000000000000", "us-east-1", "a", {"items": defaultdict(dict), "b": b"\xff"})
    by_account = AccountScopedDict()
    by_account._data[("000000000000", "k")] = {"of": {1: "a key that is no string"}}
    state = {"tables": scoped, "other": by_account, "none": None, "empty": {}}
    for depth in range(9):
        text = "".join(encoded(state, depth))
        assert json.loads(text) == json.loads(json.dumps(state, default=persistence._json_default))


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [([], False), (["CREATE_COMPLETE"], False), (["CREATE_COMPLETE", "UPDATE_IN_PROGRESS"], True)],
)
def test_a_running_deployment_is_detected(
    statuses: list[str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks = [{"StackStatus": status} for status in statuses]
    module = SimpleNamespace(_stacks=SimpleNamespace(all_values=lambda: stacks))
    monkeypatch.setitem(sys.modules, "ministack.services.cloudformation", module)
    assert deploying() is expected
