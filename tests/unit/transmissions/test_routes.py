from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.store import accounts, usage
from chalicelib.core import clock, queues
from chalicelib.core import request as core_request
from chalicelib.core.errors import ServiceError, Unavailable
from chalicelib.core.http import Reply, Request
from chalicelib.core.scope import Scope
from chalicelib.sending_domains import store as domains
from chalicelib.transmissions import routes as transmission_routes
from chalicelib.transmissions.routes import create_transmission
from chalicelib.transmissions.store import idempotency, transmissions
from chalicelib.transmissions.submit import submit
from tests.fake_cloud import queued_work
from tests.unit.calling import Client, Response
from tests.unit.people import limit, make_account, make_key, make_subaccount
from tests.unit.refusals import refusal_code
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import CREATED, body, make_transmission, meter, recipients

PATH = "/api/v1/transmissions"
GOOD, BAD = {"address": "r@example.test"}, {"address": "nobody"}


@pytest.fixture(autouse=True)
def _with_a_domain(cloud: None) -> None:
    make_account()
    domains.create(domain())


def post(recipients: list[Any], query: str = "") -> Response:
    return make_key().post(PATH + query, body(recipients=recipients))


@pytest.mark.spec("4.1-t1")
def test_a_transmission_is_answered_with_its_id_and_the_count_of_recipients() -> None:
    response = post([GOOD, GOOD])
    assert response.status == 200
    assert set(response.body) == {"results"}
    assert response.results.pop("id").isdigit()
    assert response.results == {"total_accepted_recipients": 2, "total_rejected_recipients": 0}


@pytest.mark.spec("4.1-t1")
@pytest.mark.spec("7-t22")
def test_a_transmission_of_which_some_recipients_are_bad_is_answered_with_their_errors() -> None:
    response = post([GOOD, BAD, {}])
    assert response.status == 200
    assert response.error["code"] == "2000"
    assert response.results["total_accepted_recipients"] == 1
    assert response.results["total_rejected_recipients"] == 2
    errors = response.results["rcpt_to_errors"]
    assert [error["code"] for error in errors] == ["1300", "1400"]
    assert all(set(error) == {"message", "description", "code"} for error in errors)


@pytest.mark.parametrize(("query", "view"), [("0", 0), ("1", 1), ("2", 2), ("3", 2)])
def test_the_number_of_errors_that_are_shown_may_be_limited(query: str, view: int) -> None:
    response = post([GOOD, BAD, {}], f"?num_rcpt_errors={query}")
    assert len(response.results["rcpt_to_errors"]) == view
    assert response.results["total_rejected_recipients"] == 2


def test_an_answer_about_many_bad_recipients_stays_small_enough_for_lambda() -> None:
    response = post([GOOD, *[{}] * 100_000])
    assert response.results["total_rejected_recipients"] == 100_000
    assert 10_000 < len(response.results["rcpt_to_errors"]) < 100_000
    assert len(json.dumps(json.dumps(response.body))) < 6_000_000


@pytest.mark.parametrize("text", ["many", "-1", "1.5", ""])
def test_a_number_of_errors_that_is_none_is_refused(text: str) -> None:
    response = post([GOOD], f"?num_rcpt_errors={text}")
    assert (response.status, response.error["code"]) == (400, "1200")


def test_a_key_without_the_grant_is_refused() -> None:
    assert make_key(grants=["transmissions/view"]).post(PATH, body()).status == 403


@pytest.mark.spec("4.1-r1")
def test_different_idempotency_keys_of_one_request_are_refused() -> None:
    def send(*keys: str) -> Response:
        return Client(make_key().key, {"Idempotency-Key": [*keys]}).post(PATH, body())

    response = send("one", "two")
    assert (response.status, response.error["code"]) == (400, "1602")
    assert send("one", "one ").results == send("one").results


class Caller:
    """One caller of the routes, whose replies come with their headers."""

    def __init__(self, account: int = 1, part: int | None = 0) -> None:
        self.caller = core_request.Caller(Scope(account, part), "key", frozenset())

    def request(self, data: Any = None, key: str | None = None, **query: str) -> Request:
        headers = {"content-type": "application/json"}
        if key is not None:
            headers["idempotency-key"] = key
        return Request(
            raw_body=json.dumps(data).encode(),
            headers=headers,
            query=query,
            authenticated=self.caller,
        )

    def post(self, key: str | None = "k", **fields: Any) -> Reply:
        return create_transmission(self.request(body(**fields), key))

    def refused_post(self, key: str = "k", **fields: Any) -> tuple[int, str | None]:
        return refusal_code(self.post, key, **fields)


def ids() -> list[str]:
    """Take the generation queue's messages; return their transmissions."""
    return [queues.read(each).head["transmission"] for each in queued_work()]


class TestIdempotency:
    @pytest.mark.spec("4.1-r3")
    @pytest.mark.parametrize("to", [[GOOD], [GOOD, BAD]])
    def test_a_repeat_gets_the_same_status_and_body_and_sends_nothing(self, to: Any) -> None:
        limit(monthly=10**9)
        first = Caller().post(recipients=to)
        assert len(ids()) == 1
        for _ in range(2):
            again = Caller().post(recipients=to)
            assert (again.status, again.body) == (first.status, first.body)
            assert again.headers == {"X-Idempotent-Replayed": "true"}
        assert ids() == []
        assert "X-Idempotent-Replayed" not in first.headers
        assert usage.get(1)[0].day == 1

    @pytest.mark.spec("4.1-r5")
    def test_a_repeat_with_another_body_is_refused(self) -> None:
        Caller().post()
        assert Caller().refused_post(campaign_id="other") == (409, "1600")
        assert len(ids()) == 1

    @pytest.mark.spec("4.1-r1")
    @pytest.mark.parametrize("key", ["", "a b", "x" * 256])
    def test_a_malformed_key_is_refused_before_the_body_is_looked_at(self, key: str) -> None:
        with pytest.raises(ServiceError) as refusal:
            create_transmission(Caller().request("no body", key))
        assert (refusal.value.status, refusal.value.errors[0]["code"]) == (400, "1602")

    @pytest.mark.spec("4.1-r2")
    def test_subaccounts_and_accounts_have_keys_of_their_own(self) -> None:
        make_account(2)
        domains.create(domain("two.test", account=2))
        domains.create(domain("sub.test", subaccount_id=make_subaccount().id))
        senders = {Caller(): "mail.example.test", Caller(2): "two.test", Caller(1, 1): "sub.test"}
        for caller, name in senders.items():
            inline = body()["content"] | {"from": f"a@{name}"}
            assert caller.post(content=inline).headers == {}
        assert len(set(ids())) == 3

    @pytest.mark.spec("4.1-r4")
    def test_a_repeat_while_the_first_is_in_progress_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[tuple[int, str]] = []
        real = transmission_routes.accept

        def meanwhile(*data: Any) -> Any:
            monkeypatch.undo()
            seen.append(Caller().refused_post())
            return real(*data)

        monkeypatch.setattr(transmission_routes, "accept", meanwhile)
        assert Caller().post().status == 200
        assert seen == [(409, "1601")]
        assert len(ids()) == 1

    def test_a_refused_request_releases_its_key(self) -> None:
        assert Caller().refused_post(recipients=[BAD]) == (400, "5002")
        assert Caller().post().status == 200
        assert len(ids()) == 1

    @pytest.mark.parametrize("step", ["accept", "complete"])
    def test_the_repeat_of_a_request_that_died_has_the_same_transmission_id(
        self, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limit(monthly=10**9)
        place: Any = transmission_routes if step == "accept" else idempotency
        with monkeypatch.context() as broken:
            broken.setattr(place, step, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                Caller().post()
        transmission = ids()
        assert Caller().refused_post() == (409, "1601")
        later = clock.now() + idempotency.CLAIM_SECONDS
        with clock.use(lambda: later):
            response = Caller().post()
        assert response.status == 200
        assert response.body["results"]["id"] in (transmission or ids())
        assert usage.get(1)[0].day == 1

    def test_a_sent_transmission_is_not_sent_again_when_its_repeat_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(idempotency, "complete", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                Caller().post()
        (transmission,) = ids()
        later = clock.now() + idempotency.CLAIM_SECONDS
        with clock.use(lambda: later):
            accounts.change(1, lambda account: replace(account, status="suspended"))
            with pytest.raises(ServiceError):
                Caller().post()
            accounts.change(1, lambda account: replace(account, status="active"))
            assert Caller().refused_post() == (409, "1601")
        later += idempotency.CLAIM_SECONDS
        with clock.use(lambda: later):
            assert Caller().post().body["results"]["id"] == transmission

    def test_a_scheduled_transmission_whose_reply_was_lost_is_not_accepted_again_until_it_is_over(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = clock.now()
        options = {"start_time": clock.iso_offset(now + 2 * 86_400)}
        with monkeypatch.context() as broken:
            broken.setattr(idempotency, "complete", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                Caller().post(options=options)
        with clock.use(lambda: now + 1.5 * 86_400):
            Caller().post(options=options)
        assert len(list(transmissions.scheduled(1))) == 1

    def test_a_fault_of_the_service_keeps_the_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unavailable(*_: Any) -> Any:
            raise Unavailable

        with monkeypatch.context() as broken:
            broken.setattr(transmission_routes, "accept", unavailable)
            with pytest.raises(Unavailable):
                Caller().post()
        assert Caller().refused_post() == (409, "1601")

    @pytest.mark.spec("8-t3")
    @pytest.mark.spec("3-t9")
    def test_the_key_of_a_scheduled_transmission_is_kept_until_a_day_after_its_start(self) -> None:
        now = 1_769_850_000.0
        options = {"start_time": clock.iso_offset(now + 7200)}
        with clock.use(lambda: now):
            Caller().post(options=options)
        with clock.use(lambda: now + 7200 + 86_399):
            assert Caller().post(options=options).headers == {"X-Idempotent-Replayed": "true"}
        with clock.use(lambda: now + 7200 + 86_400):
            assert Caller().post(options=options).headers == {}

    def test_without_a_key_each_request_is_sent(self) -> None:
        for _ in range(2):
            Caller().post(None)
        assert len(set(ids())) == 2


class TestReading:
    def make(self, number: int, count: int = 2, **fields: Any) -> None:
        transmission = make_transmission(id=str(191930000000000000 + number), **fields)
        submit(transmission, recipients(count), meter())

    def listed(self, client: Client, query: str = "") -> list[int]:
        return [int(each["id"]) % 1000 for each in client.get(PATH + query).results]

    def test_a_transmission_is_shown_to_its_owner(self) -> None:
        self.make(1, subaccount_id=7)
        path = f"{PATH}/191930000000000001"
        view = make_key().get(path).results
        assert list(view) == ["transmission"]
        assert view["transmission"]["num_rcpts"] == 2
        make_account(2)
        for client in (make_key(2), make_key(subaccount=8), make_key().on_behalf_of(0)):
            response = client.get(path)
            assert (response.status, response.error["code"]) == (404, "1600")

    def test_the_list_shows_transmissions_to_several_in_scope_newest_first(self) -> None:
        self.make(1, campaign_id="spring", template_id="a")
        self.make(2, count=1, campaign_id="spring")
        self.make(3, subaccount_id=7, campaign_id="spring")
        self.make(4, account_id=2)
        self.make(5, start_ms=CREATED * 2, content={"template_id": "a"}, resolved=False)
        owner = make_key()
        assert self.listed(owner) == [5, 3, 1]
        assert self.listed(owner.on_behalf_of(0)) == [5, 1]
        assert self.listed(make_key(subaccount=7)) == [3]
        assert self.listed(owner, "?campaign_id=spring") == [3, 1]
        assert self.listed(owner, "?template_id=a") == [5, 1]
        assert self.listed(owner, "?campaign_id=spring&template_id=a") == [1]
        assert self.listed(owner, "?template_id=inline") == [3]
        assert self.listed(owner, "?campaign_id=autumn") == []

    def test_the_list_can_be_limited_to_the_newest(self) -> None:
        for number in range(1, 5):
            self.make(number)
        assert self.listed(make_key(), "?limit=2") == [4, 3]
        assert self.listed(make_key(), "?limit=9") == [4, 3, 2, 1]
        for bad in ("0", "x", "10001"):
            response = make_key().get(f"{PATH}?limit={bad}")
            assert (response.status, response.error["code"]) == (400, "1200")

    def test_reading_and_writing_take_a_grant_each(self) -> None:
        self.make(1)
        path = f"{PATH}/191930000000000001"
        viewer, writer = (
            make_key(grants=["transmissions/view"]),
            make_key(grants=["transmissions/modify"]),
        )
        assert [viewer.get(each).status for each in (PATH, path)] == [200, 200]
        assert [writer.get(each).status for each in (PATH, path)] == [403, 403]
        cancelling = (path, f"{PATH}?campaign_id=c")
        assert [viewer.delete(each).status for each in cancelling] == [403, 403]
        assert [writer.delete(each).status for each in cancelling] == [409, 204]


class TestCancelling:
    def make(self, number: int = 1, **fields: Any) -> str:
        start = clock.now_ms() + 86_400_000
        transmission = make_transmission(
            id=str(191930000000000000 + number), start_ms=start, resolved=False, **fields
        )
        submit(transmission, recipients(2), meter())
        return f"{PATH}/{transmission.id}"

    def test_cancelling_a_scheduled_transmission_returns_no_body(self) -> None:
        path = self.make()
        response = make_key().delete(path)
        assert (response.status, response.body) == (204, None)
        assert make_key().get(path).results["transmission"]["state"] == "Canceled"
        assert make_key().delete(path).error["code"] == "2006"

    @pytest.mark.spec("5-r6")
    def test_a_key_of_the_primary_account_cancels_a_subaccounts_only_on_its_behalf(self) -> None:
        path = self.make(subaccount_id=make_subaccount().id)
        assert make_key().delete(path).status == 404
        assert make_key().on_behalf_of(1).delete(path).status == 204

    def test_a_campaign_is_named(self) -> None:
        self.make(campaign_id="spring")
        for query in ("", "?campaign_id="):
            response = make_key().delete(PATH + query)
            assert (response.status, response.error["code"]) == (400, "1401")
        for name in ("spring", "unknown"):
            response = make_key().delete(f"{PATH}?campaign_id={name}")
            assert (response.status, response.body) == (204, None)
        assert make_key().get(PATH).results[0]["state"] == "Canceled"
