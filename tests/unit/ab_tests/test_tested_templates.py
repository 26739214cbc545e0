from __future__ import annotations

import pytest

from chalicelib.ab_tests.model import CLICKED, OPENED, AbTest, Share
from chalicelib.ab_tests.tested_templates import check_default_template, check_templates
from chalicelib.core.errors import ServiceError
from tests.unit.ab_tests.examples import by_size, template

pytestmark = pytest.mark.usefixtures("cloud")


def faults(test: AbTest) -> list[str]:
    try:
        check_templates(test)
    except ServiceError as refusal:
        return [error["message"] for error in refusal.errors]
    return []


def test_every_template_has_to_be_published() -> None:
    template("t0")
    template("t1", published=False)
    assert faults(by_size(1, 1, 1)) == [
        "template 't1' has no published version",
        "template 't2' does not exist",
    ]
    template("t2")
    assert len(faults(by_size(1, 1, 1))) == 1
    assert faults(by_size(1)) == []


@pytest.mark.parametrize(
    ("metric", "option"), [(CLICKED, "click_tracking"), (OPENED, "open_tracking")]
)
def test_what_is_measured_has_to_be_tracked(metric: str, option: str) -> None:
    template("t0", **{option: True})
    template("t1", **{option: False})
    assert faults(by_size(1, 1, metric=metric)) == [f"template 't1' has {option} turned off"]
    other = CLICKED if metric == OPENED else OPENED
    assert faults(by_size(1, 1, metric=other)) == []


def test_templates_are_those_of_the_owner_of_the_test() -> None:
    template("t0")
    template("t1", part=7)
    assert faults(by_size(1, 1)) == ["template 't1' does not exist"]
    assert faults(by_size(1, 1, subaccount_id=7)) == ["template 't0' does not exist"]


def test_of_a_draft_only_the_default_template_matters() -> None:
    template("t0", click_tracking=False)
    check_default_template(by_size(1, 1))
    with pytest.raises(ServiceError, match="'t9' does not exist"):
        check_default_template(by_size(1, 1, default_template=Share("t9")))
