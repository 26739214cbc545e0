from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from chalicelib.ab_tests.assignment import Assignment, assign, find_test, foresee, preferences
from chalicelib.ab_tests.model import AbTest
from chalicelib.core import clock
from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import Scope
from tests.fake_cloud import aws_requests
from tests.unit.ab_tests.examples import DAY, START, again, by_percent, by_size, stored

pytestmark = pytest.mark.usefixtures("cloud")


def assigned(test: AbTest, number: int, at_ms: int = START + 1) -> Assignment:
    return assign(test, f"message-{number}", f"r{number}@example.test", at_ms)


@pytest.mark.cost
@pytest.mark.parametrize(
    ("test", "template"),
    [
        (by_percent(50, 50, state="draft"), "t0"),
        (by_percent(50, 50, start_ms=START + 9), "t0"),
        (by_percent(50, 50, state="cancelled", ended_ms=START), "t0"),
        (by_percent(50, 50, state="completed", ended_ms=START, winning_template_id="t1"), "t1"),
        (by_percent(50, 50, state="completed", ended_ms=START, test_mode="learning"), "t0"),
        (by_percent(50, 50, end_ms=START + 1), "t0"),
        (by_percent(50, 50, sampled_ms=START), "t0"),
    ],
    ids=["draft", "scheduled", "cancelled", "completed", "learnt", "waiting", "sampled"],
)
def test_a_test_that_tries_nothing_gives_its_settled_template(test: AbTest, template: str) -> None:
    with aws_requests() as requests:
        assignments = {assigned(test, number) for number in range(20)}
    assert assignments == {Assignment(template, tried=False)}
    assert requests == []


@pytest.mark.cost
def test_a_running_test_without_a_sample_size_gives_a_template_by_share_at_no_cost() -> None:
    test = by_percent(50, 50)
    with aws_requests() as requests:
        assignments = [assigned(test, number) for number in range(200)]
    assert requests == []
    assert all(each.tried for each in assignments)
    assert Counter(each.template_id for each in assignments)["t1"] in range(70, 130)
    assert assignments[3].template_id == preferences(test, "r3@example.test")[0].template_id


def test_the_default_template_goes_out_after_exactly_the_sample() -> None:
    test = stored(by_size(4, 3, 3))
    with clock.use(lambda: (START + 1) / 1000):
        assignments = [assigned(test, number) for number in range(14)]
    assert Counter(assignments) == {
        Assignment("t0", tried=True): 4,
        Assignment("t1", tried=True): 3,
        Assignment("t2", tried=True): 3,
        Assignment("t0", tried=False): 4,
    }
    assert [each.tried for each in assignments] == [True] * 10 + [False] * 4


def test_a_message_that_is_generated_again_gets_the_same_template() -> None:
    test = stored(by_size(2, 2))
    with clock.use(lambda: (START + 5) / 1000):
        first = [assigned(test, number) for number in range(6)]
    sampled = again(test)
    completed = replace(sampled, state="completed", ended_ms=START + DAY, winning_template_id="t1")
    for later in (test, sampled, completed):
        assert [assigned(later, number) for number in range(6)] == first
    assert assigned(completed, 1, START + DAY) == Assignment("t1", tried=False)


@pytest.mark.cost
def test_the_foreseen_template_is_assigned_and_foreseeing_takes_no_sample_place() -> None:
    test = stored(by_size(5, 5))
    with aws_requests() as requests:
        templates = [foresee(test, f"r{number}@example.test", START + 1) for number in range(5)]
        assert foresee(test, "r1@example.test", START - 1) == "t0"
    assert requests == []
    with clock.use(lambda: (START + 1) / 1000):
        assert [assigned(test, number).template_id for number in range(5)] == templates


def test_a_sender_finds_its_own_test() -> None:
    stored(by_size(5, 5)), stored(by_size(5, 5, id="theirs", subaccount_id=7))
    assert find_test(Scope(1, 0), "welcome").name == "Welcome"
    assert find_test(Scope(1, 7), "theirs").subaccount_id == 7


@pytest.mark.spec("4.1-r8")
@pytest.mark.spec("7-t21")
@pytest.mark.parametrize(
    ("scope", "test_id"),
    [
        (Scope(1, 0), "other"),
        (Scope(2, 0), "welcome"),
        (Scope(1, 7), "welcome"),
        (Scope(1, 0), "theirs"),
        (Scope(1, 8), "theirs"),
    ],
)
def test_any_other_test_does_not_exist(scope: Scope, test_id: str) -> None:
    stored(by_size(5, 5)), stored(by_size(5, 5, id="theirs", subaccount_id=7))
    with pytest.raises(ServiceError, match=f"A/B test '{test_id}' does not exist") as error_info:
        find_test(scope, test_id)
    assert (error_info.value.status, error_info.value.errors[0]["code"]) == (422, "1603")
