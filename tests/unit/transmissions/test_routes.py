from __future__ import annotations

from typing import Any

import pytest

from chalicelib.sending_domains import store as domains
from tests.unit.calling import Answer
from tests.unit.people import make_account, make_key
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import body

PATH = "/api/v1/transmissions"
GOOD, BAD = {"address": "r@example.test"}, {"address": "nobody"}


@pytest.fixture(autouse=True)
def _with_a_domain(cloud: None) -> None:
    make_account()
    domains.create(domain())


def post(recipients: list[Any], query: str = "") -> Answer:
    return make_key().post(PATH + query, body(recipients=recipients))


@pytest.mark.spec("4.1-t1")
def test_a_transmission_is_answered_with_its_id_and_the_count_of_recipients() -> None:
    answer = post([GOOD, GOOD])
    assert answer.status == 200
    assert set(answer.body) == {"results"}
    assert answer.results.pop("id").isdigit()
    assert answer.results == {"total_accepted_recipients": 2, "total_rejected_recipients": 0}


@pytest.mark.spec("4.1-t1")
@pytest.mark.spec("7-t22")
def test_a_transmission_of_which_some_recipients_are_bad_is_answered_with_their_errors() -> None:
    answer = post([GOOD, BAD, {}])
    assert answer.status == 200
    assert answer.error["code"] == "2000"
    assert answer.results["total_accepted_recipients"] == 1
    assert answer.results["total_rejected_recipients"] == 2
    errors = answer.results["rcpt_to_errors"]
    assert [error["code"] for error in errors] == ["1300", "1400"]
    assert all(set(error) == {"message", "description", "code"} for error in errors)


@pytest.mark.parametrize(("query", "shown"), [("0", 0), ("1", 1), ("2", 2), ("3", 2)])
def test_the_number_of_errors_that_are_shown_may_be_limited(query: str, shown: int) -> None:
    answer = post([GOOD, BAD, {}], f"?num_rcpt_errors={query}")
    assert len(answer.results["rcpt_to_errors"]) == shown
    assert answer.results["total_rejected_recipients"] == 2


@pytest.mark.parametrize("text", ["many", "-1", "1.5", ""])
def test_a_number_of_errors_that_is_none_is_refused(text: str) -> None:
    answer = post([GOOD], f"?num_rcpt_errors={text}")
    assert (answer.status, answer.error["code"]) == (400, "1200")


def test_a_key_without_the_grant_is_refused() -> None:
    assert make_key(grants=["transmissions/view"]).post(PATH, body()).status == 403
