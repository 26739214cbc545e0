from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from chalicelib.ab_tests.assignment import Assignment, assign, foresee
from chalicelib.ab_tests.choice import choose
from chalicelib.ab_tests.model import AbTest
from chalicelib.core import clock
from tests.fake_cloud import aws_requests
from tests.unit.ab_tests.examples import DAY, START, again, by_percent, by_size, stored

pytestmark = pytest.mark.usefixtures("cloud")


def assigned(test: AbTest, number: int, at_ms: int = START + 1) -> Assignment:
    return assign(test, f"message-{number}", f"r{number}@example.test", at_ms)


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
def test_a_test_that_tries_nothing_gives_what_is_settled(test: AbTest, template: str) -> None:
    with aws_requests() as made:
        found = {assigned(test, number) for number in range(20)}
    assert found == {Assignment(template, tried=False)}
    assert made == []


def test_a_running_test_without_a_sample_size_gives_a_template_by_share_at_no_cost() -> None:
    test = by_percent(50, 50)
    with aws_requests() as made:
        found = [assigned(test, number) for number in range(200)]
    assert made == []
    assert all(each.tried for each in found)
    assert Counter(each.template_id for each in found)["t1"] in range(70, 130)
    assert found[3].template_id == choose(test, "r3@example.test").template_id


def test_a_sample_is_used_up_exactly_and_then_the_default_template_goes_out() -> None:
    test = stored(by_size(4, 3, 3))
    with clock.use(lambda: (START + 1) / 1000):
        found = [assigned(test, number) for number in range(14)]
    assert Counter(found) == {
        Assignment("t0", tried=True): 4,
        Assignment("t1", tried=True): 3,
        Assignment("t2", tried=True): 3,
        Assignment("t0", tried=False): 4,
    }
    assert [each.tried for each in found] == [True] * 10 + [False] * 4


def test_repeated_for_the_time_of_its_first_generation_a_message_gets_the_same() -> None:
    test = stored(by_size(2, 2))
    with clock.use(lambda: (START + 5) / 1000):
        first = [assigned(test, number) for number in range(6)]
    sampled = again(test)
    completed = replace(sampled, state="completed", ended_ms=START + DAY, winning_template_id="t1")
    for later in (test, sampled, completed):
        assert [assigned(later, number) for number in range(6)] == first
    assert assigned(completed, 1, START + DAY) == Assignment("t1", tried=False)


def test_what_is_foreseen_is_what_is_assigned_while_there_is_room_and_takes_no_place() -> None:
    test = stored(by_size(5, 5))
    with aws_requests() as made:
        foreseen = [foresee(test, f"r{number}@example.test", START + 1) for number in range(5)]
        assert foresee(test, "r1@example.test", START - 1) == "t0"
    assert made == []
    with clock.use(lambda: (START + 1) / 1000):
        assert [assigned(test, number).template_id for number in range(5)] == foreseen
