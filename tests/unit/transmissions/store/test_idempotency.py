"""A request that is repeated under the same key is answered again, not sent again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import aws
from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.transmissions.store import idempotency
from chalicelib.transmissions.store.idempotency import (
    CLAIM_SECONDS,
    RETENTION,
    Claim,
    Replay,
    check_key,
    claim,
    complete,
    release,
)
from tests.client_calls import before_calls_of
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.refusals import refusal_code
from tests.unit.transmissions.examples import CREATED, body

OWNER = Scope(1, 0)
BODY = body()
ANSWER = Replay(200, {"results": {"id": "é", "total_accepted_recipients": 1}})


@pytest.fixture
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(CREATED / 1000) as moving:
        yield moving


def claimed(key: str = "k", scope: Scope = OWNER, data: Any = BODY) -> Claim:
    own_claim = claim(scope, key, data)
    assert isinstance(own_claim, Claim)
    return own_claim


def refused_claim(key: str = "k", data: Any = BODY) -> tuple[int, str | None]:
    return refusal_code(claim, OWNER, key, data)


def is_free(data: Any) -> bool:
    return isinstance(claim(OWNER, "k", data), Claim)


@pytest.mark.spec("4.1-r1")
@pytest.mark.spec("7-t20")
@pytest.mark.spec("8-t3")
class TestKeys:
    @pytest.mark.parametrize("key", ["a", "A-Z_0.9", "-", "x" * 255])
    def test_letters_digits_dots_underscores_and_hyphens_make_a_key(self, key: str) -> None:
        check_key(key)

    @pytest.mark.parametrize("key", ["", "x" * 256, "a b", "a\n", "é", "a/b", "٣", "a#b", "\ud800"])
    def test_anything_else_is_refused(self, key: str) -> None:
        with pytest.raises(ServiceError) as refusal:
            check_key(key)
        assert (refusal.value.status, refusal.value.errors[0]["code"]) == (400, "1602")


@pytest.mark.spec("4.1-r3")
class TestRepeating:
    def test_a_request_that_was_answered_is_answered_again(self, time: Clock) -> None:
        complete(claimed(), ANSWER, 0.0)
        assert claim(OWNER, "k", BODY) == ANSWER

    def test_the_order_of_the_fields_of_a_body_does_not_matter(self, time: Clock) -> None:
        complete(claimed(data={"a": 1, "b": {"c": 2, "d": [3]}}), ANSWER, 0.0)
        assert claim(OWNER, "k", {"b": {"d": [3], "c": 2}, "a": 1}) == ANSWER

    @pytest.mark.spec("4.1-r5")
    @pytest.mark.spec("7-t18")
    @pytest.mark.parametrize("finished", [True, False])
    def test_another_body_under_the_key_is_refused(self, time: Clock, finished: bool) -> None:
        own_claim = claimed()
        if finished:
            complete(own_claim, ANSWER, 0.0)
        for other in (body(campaign_id="x"), body(metadata={}), {}, None, [BODY]):
            assert refused_claim(data=other) == (409, "1600")

    @pytest.mark.spec("4.1-r4")
    @pytest.mark.spec("7-t19")
    def test_a_repeat_is_refused_while_the_first_request_is_in_progress(self, time: Clock) -> None:
        claimed()
        time.now += CLAIM_SECONDS - 0.001
        assert refused_claim() == (409, "1601")

    def test_an_answer_of_any_size_is_kept(self, time: Clock) -> None:
        noise = [f"{number * 7919 % 1_000_003:x}" for number in range(60_000)]
        large = Replay(200, {"results": {"rcpt_to_errors": noise}})
        own_claim = claimed()
        complete(own_claim, large, 0.0)
        assert claim(OWNER, "k", BODY) == large
        assert stored_objects() == [f"transmissions/{own_claim.transmission_id}/answer"]

    @pytest.mark.cost
    def test_a_claim_and_its_answer_cost_two_requests_and_a_repeat_one(self, time: Clock) -> None:
        with aws_requests() as requests:
            complete(claimed(), ANSWER, 0.0)
            claim(OWNER, "k", BODY)
        assert [each.operation for each in requests] == ["PutItem"] * 3


@pytest.mark.spec("4.1-r2")
def test_keys_belong_to_an_account_and_a_subaccount(time: Clock) -> None:
    scopes = [OWNER, Scope(1, 7), Scope(1, 8), Scope(2, 0), Scope(2, 7)]
    ids = {claimed(scope=scope, data={"of": str(scope)}).transmission_id for scope in scopes}
    assert len(ids) == len(scopes)


@pytest.mark.spec("8-t3")
class TestRetention:
    @pytest.mark.parametrize("ahead", [0.0, -100.0, 86_400.0])
    def test_an_answer_is_kept_for_a_day_after_it_was_given_or_the_send_time(
        self, time: Clock, ahead: float
    ) -> None:
        own_claim = claimed()
        time.now += 5
        complete(own_claim, ANSWER, time.now + ahead if ahead else 0.0)
        time.now += max(ahead, 0.0) + RETENTION - 1
        assert claim(OWNER, "k", BODY) == ANSWER
        time.now += 1
        assert claimed().transmission_id != own_claim.transmission_id

    def test_a_key_that_has_expired_may_be_used_for_another_body(self, time: Clock) -> None:
        complete(claimed(), ANSWER, 0.0)
        time.now += RETENTION
        assert is_free(body(campaign_id="x"))


class TestTakingOver:
    def test_the_claim_of_a_dead_process_is_taken_over_with_the_same_transmission_id(
        self, time: Clock
    ) -> None:
        first = claimed()
        time.now += CLAIM_SECONDS
        second = claimed()
        assert second.transmission_id == first.transmission_id
        assert refused_claim() == (409, "1601")
        complete(second, ANSWER, 0.0)
        assert claim(OWNER, "k", BODY) == ANSWER

    def test_another_body_does_not_take_over_a_claim(self, time: Clock) -> None:
        claimed()
        time.now += CLAIM_SECONDS
        assert refused_claim(data=body(campaign_id="x")) == (409, "1600")

    def test_only_one_of_two_requests_takes_over_a_claim(self, time: Clock) -> None:
        claimed()
        time.now += CLAIM_SECONDS
        answers: list[Claim | Replay] = []

        def compete() -> None:
            if not answers:
                answers.append(ANSWER)
                time.now += 0.001
                answers[0] = claimed()

        with before_calls_of("UpdateItem", compete):
            assert refused_claim() == (409, "1601")
        assert isinstance(answers[0], Claim)

    def test_a_late_answer_is_stored(self, time: Clock) -> None:
        slow = claimed()
        time.now += CLAIM_SECONDS
        release(claimed())  # the request that took it over was refused
        complete(slow, ANSWER, 0.0)
        assert claim(OWNER, "k", BODY) == ANSWER


class TestReleasing:
    def test_a_refused_request_releases_its_key(self, time: Clock) -> None:
        release(claimed())
        assert is_free(body(campaign_id="x"))

    @pytest.mark.parametrize("answered", [True, False])
    def test_a_claim_that_another_request_took_over_is_not_released(
        self, time: Clock, answered: bool
    ) -> None:
        slow = claimed()
        time.now += CLAIM_SECONDS
        other = claimed()
        if answered:
            complete(other, ANSWER, 0.0)
        release(slow)
        if answered:
            assert claim(OWNER, "k", BODY) == ANSWER
        else:
            assert refused_claim() == (409, "1601")


def test_a_claim_that_the_aws_client_repeats_is_made_once(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = idempotency._transmissions.put

    def twice(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        real(*arguments, **options)

    monkeypatch.setattr(idempotency._transmissions, "put", twice)
    assert claimed().lease == time.now + CLAIM_SECONDS


def test_the_record_expires_when_it_no_longer_counts(time: Clock) -> None:
    def expires(own_claim: Claim) -> int:
        response = aws.dynamodb().get_item(
            TableName=settings().table("transmissions"),
            Key={"pk": {"S": own_claim.pk}, "sk": {"S": "idempotency"}},
        )
        return int(response["Item"]["expires"]["N"])

    own_claim = claimed()
    assert expires(own_claim) == int(time.now) + 3 * 86_400 + RETENTION  # it may start that late
    complete(own_claim, ANSWER, 0.0)
    assert expires(own_claim) == int(time.now) + RETENTION
