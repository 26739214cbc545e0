"""The webhook endpoints, called as a client calls them, with a target on this machine."""

from __future__ import annotations

import time
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.events.documentation import UNPRODUCED
from chalicelib.webhooks import oauth, target_check
from chalicelib.webhooks.attempts import history, pack
from chalicelib.webhooks.circuit_breaker import CircuitBreaker
from chalicelib.webhooks.credentials import open_sealed
from chalicelib.webhooks.model import WebhookBatch
from chalicelib.webhooks.store import batches, circuit_breakers
from chalicelib.webhooks.store import webhooks as webhook_store
from tests.fake_cloud import aws_requests
from tests.http_target import Post, Reply, Target
from tests.unit.calling import Client, Response
from tests.unit.people import make_account, make_key, make_subaccount

PATH = "/api/v1/webhooks"
NINE = 1_769_850_000.0  # 2026-01-31T09:00:00Z


def new(target: Target | str, **fields: Any) -> dict[str, Any]:
    url = target if isinstance(target, str) else target.url
    return {"name": "Ours", "target": url, "events": ["delivery", "bounce"], **fields}


def make(client: Client, target: Target, **fields: Any) -> str:
    return client.post(PATH, new(target, **fields)).results["id"]


def show(client: Client, webhook_id: str) -> dict[str, Any]:
    return client.get(f"{PATH}/{webhook_id}").results


def fault(response: Response, param: str) -> str:
    assert response.status == 400, response
    return next(each["message"] for each in response.body["errors"] if each["param"] == param)


@pytest.mark.spec("2.10-t1")
@pytest.mark.spec("2.10-t5")
@pytest.mark.spec("2.10-t8")
@pytest.mark.spec("2.10-t12")
@pytest.mark.spec("2.10-t14")
@pytest.mark.spec("4.9-t1")
@pytest.mark.spec("4.9-t3")
@pytest.mark.spec("6-r5")
@pytest.mark.spec("3-t14")
def test_a_webhook_is_created_once_its_target_accepts_the_test_post(
    client: Client, target: Target
) -> None:
    response = client.post(PATH, new(target)).results
    (ping,) = target.posts
    assert ping.body == b'[{"svc":{}}]'
    assert ping.headers["content-type"] == "application/json"
    assert ping.batch_id
    base = f"http://localhost:8080{PATH}/{response['id']}"
    links = [
        {
            "href": base,
            "rel": "urn.svc.webhooks.webhook",
            "method": ["GET", "PUT", "DELETE"],
        },
        {"href": f"{base}/validate", "rel": "urn.svc.webhooks.validate", "method": ["POST"]},
        {"href": f"{base}/batch-status", "rel": "urn.svc.webhooks.batches", "method": ["GET"]},
    ]
    assert response["links"] == links
    assert show(client, response["id"]) == {
        "id": response["id"],
        "name": "Ours",
        "target": target.url,
        "events": ["delivery", "bounce"],
        "active": True,
        "subaccount_id": -1,
        "exception_subaccounts": [],
        "auth_type": "none",
        "custom_headers": {},
        "signed": False,
        "last_successful": None,
        "last_failure": None,
        "links": links,
    }


@pytest.mark.parametrize("silent", ["/hook", "/token"])
def test_all_posts_of_one_request_share_one_time_limit(
    client: Client, target: Target, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    target.answer = server = TokenServer()
    webhook = make(client, target, **oauth2(target))
    server.token_number += 1  # the target refuses the token, so another one is fetched

    def answer(post: Post) -> Reply:
        return Reply(never_sent=True) if post.path.startswith(silent) else server(post)

    target.answer = answer
    monkeypatch.setattr(target_check, "LONGEST", 0.5)
    changes = new(f"{target.url}?2", **oauth2(target, body={"client_id": "others"}))
    began = time.monotonic()
    assert client.post(PATH, new(target, **oauth2(target))).status == 400
    assert client.put(f"{PATH}/{webhook}", changes).status == 400
    assert client.post(f"{PATH}/{webhook}/validate", None).status == 400
    assert 1.5 < time.monotonic() - began < 3 * settings().webhook_timeout


@pytest.mark.spec("3-t14")
@pytest.mark.spec("4.9-t1")
def test_no_webhook_is_created_when_its_target_refuses_the_test_post(
    client: Client, target: Target
) -> None:
    target.answer = lambda _: Reply(418, b"a teapot", {"X-Kind": "pot"})
    response = client.post(PATH, new(target))
    assert response.status == 400
    error = response.error
    assert (error["message"], error["code"]) == ("POST to webhook target URL failed", 400)
    assert error["response"]["status"] == 418
    assert error["response"]["body"] == "a teapot"
    assert error["response"]["headers"]["x-kind"] == "pot"
    assert client.get(PATH).results == []


@pytest.mark.parametrize("status", [201, 204, 301, 302])
def test_nothing_but_200_is_a_success(client: Client, target: Target, status: int) -> None:
    target.answer = lambda _: Reply(status, headers={"Location": target.url})
    assert client.post(PATH, new(target)).error["response"]["status"] == status
    assert len(target.posts) == 1


def test_the_error_says_why_a_target_could_not_be_reached(client: Client) -> None:
    response = client.post(PATH, new("http://127.0.0.1:9/"))
    error = response.error
    assert (response.status, error["code"]) == (400, 400)
    assert "refused" in error["description"]
    assert error["response"] == {"status": None, "headers": {}, "body": ""}


@pytest.mark.spec("2.10-t2")
@pytest.mark.spec("2.10-t3")
@pytest.mark.spec("2.10-t4")
def test_name_target_and_events_are_required(client: Client) -> None:
    response = client.post(PATH, {})
    assert response.status == 400
    assert response.body["errors"] == [
        {"message": f"{name} is a required field", "param": name, "value": None}
        for name in ("name", "target", "events")
    ]


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"name": 1}, "name", "must be a string"),
        ({"name": " "}, "name", "must not be empty"),
        ({"target": "ftp://a.test/"}, "target", "must begin with http:// or https://"),
        ({"target": "https://u:p@a.test/"}, "target", "user name"),
        ({"target": "/hook"}, "target", "must begin with"),
        ({"events": "delivery"}, "events", "must be an array of strings"),
        ({"events": []}, "events", "must not be empty"),
        ({"events": ["delivery", "delivered"]}, "events", "unknown event types: delivered"),
        ({"active": "yes"}, "active", "must be a boolean"),
        ({"auth_type": "digest"}, "auth_type", "must be one of: none, basic, oauth2"),
        ({"auth_type": "basic"}, "auth_credentials", "is required for auth_type basic"),
        ({"auth_type": "basic", "auth_credentials": {}}, "username", "is a required field"),
        (
            {"auth_type": "basic", "auth_credentials": {"username": "a:b"}},
            "username",
            "must not contain a colon",
        ),
        ({"auth_type": "oauth2"}, "auth_request_details", "is required for auth_type oauth2"),
        ({"auth_type": "oauth2", "auth_request_details": {}}, "url", "is a required field"),
        (
            {"auth_type": "oauth2", "auth_request_details": {"url": "https://a.test", "body": 1}},
            "body",
            "must be an object",
        ),
        (
            {
                "auth_type": "oauth2",
                "auth_request_details": {"url": "https://a.test", "body": {"a": "b" * 10_000}},
            },
            "body",
            "must be at most 10000 bytes",
        ),
        (
            {"auth_type": "oauth2", "auth_request_details": {"url": "gopher://a.test"}},
            "url",
            "must begin with",
        ),
        ({"auth_token": "a\nb"}, "auth_token", "must be printable ASCII"),
        ({"custom_headers": {"Host": "a.test"}}, "custom_headers", "set by the service"),
        ({"exception_subaccounts": []}, "exception_subaccounts", "must not be empty"),
    ],
)
@pytest.mark.spec("2.10-t8")
@pytest.mark.spec("2.10-t10")
@pytest.mark.spec("2.10-t9")
def test_the_error_names_the_invalid_field(
    client: Client, fields: dict[str, Any], param: str, message: str
) -> None:
    assert message in fault(client.post(PATH, new("https://a.test/") | fields), param)


@pytest.mark.spec("2.10-t3")
@pytest.mark.spec("8-t11")
@pytest.mark.parametrize("url", ["http://a.test:443/", "https://a.test:80/", "http://a.test:8080/"])
def test_other_ports_than_80_and_443_are_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("WEBHOOK_ANY_PORT", "false")
    settings.cache_clear()
    assert "must use port 80 (http) or 443 (https)" in fault(client.post(PATH, new(url)), "target")
    for same in ("http://127.0.0.1/", "http://127.0.0.1:80/", "https://127.0.0.1:443/"):
        assert "POST to webhook target" in client.post(PATH, new(same)).error["message"]


@pytest.mark.spec("8-t11")
@pytest.mark.spec("2.10-t7")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("7", "must be an array"),
        ([1.5], "must hold integers only"),
        (["7"], "must hold integers only"),
        ([True], "must hold integers only"),
        ([7, 7], "must not hold duplicates"),
        (list(range(1, 12)), "must have at most 10 entries"),
        ([0], "must hold the ids of subaccounts"),
    ],
)
def test_exceptions_follow_their_rules(
    client: Client, target: Target, value: Any, message: str
) -> None:
    response = client.post(PATH, new(target, exception_subaccounts=value))
    assert message in fault(response, "exception_subaccounts")
    webhook = make(client, target)
    response = client.put(f"{PATH}/{webhook}", {"exception_subaccounts": value})
    assert message in fault(response, "exception_subaccounts")


@pytest.mark.spec("2.10-t7")
def test_exceptions_are_replaced_and_emptied_by_an_update(client: Client, target: Target) -> None:
    webhook = make(client, target, exception_subaccounts=list(range(1, 11)))
    assert show(client, webhook)["exception_subaccounts"] == list(range(1, 11))
    for value in ([3], []):
        assert client.put(f"{PATH}/{webhook}", {"exception_subaccounts": value}).status == 200
        assert show(client, webhook)["exception_subaccounts"] == value


@pytest.mark.spec("2.10-t7")
@pytest.mark.parametrize("part", ["0", "subaccount"])
def test_only_webhooks_of_all_sources_may_have_exceptions(
    client: Client, target: Target, part: str
) -> None:
    number = make_subaccount(1).id if part == "subaccount" else 0
    caller = client.on_behalf_of(number)
    response = caller.post(PATH, new(target, exception_subaccounts=[5]))
    assert "only for webhooks of" in fault(response, "exception_subaccounts")
    webhook = make(client, target, exception_subaccounts=[5])
    response = client.put(
        f"{PATH}/{webhook}", {"subaccount_id": number, "exception_subaccounts": [5]}
    )
    assert "only for webhooks of" in fault(response, "exception_subaccounts")
    assert client.put(f"{PATH}/{webhook}", {"subaccount_id": number}).status == 200
    assert "exception_subaccounts" not in show(client, webhook)


@pytest.mark.spec("5-r6")
def test_the_subaccount_header_sets_the_source_of_a_new_webhook(
    client: Client, target: Target
) -> None:
    number = make_subaccount(1).id
    own = make_key(1, number)
    ids = {
        "all": make(client, target),
        "primary": make(client.on_behalf_of(0), target),
        "subaccount": make(client.on_behalf_of(number), target),
        "own": make(own, target),
    }
    sources = {each["id"]: each["subaccount_id"] for each in client.get(PATH).results}
    assert [sources[ids[name]] for name in ids] == [-1, 0, number, number]
    of_primary = {each["id"] for each in client.on_behalf_of(0).get(PATH).results}
    assert of_primary == {ids["all"], ids["primary"]}
    of_subaccount = {each["id"] for each in own.get(PATH).results}
    assert of_subaccount == {ids["subaccount"], ids["own"]}
    assert client.put(f"{PATH}/{ids['own']}", {"name": "Mine"}).status == 404
    assert own.put(f"{PATH}/{ids['own']}", {"name": "Mine"}).status == 200


@pytest.mark.spec("2.10-t12")
def test_only_an_update_changes_the_source(client: Client, target: Target) -> None:
    number = make_subaccount(1).id
    webhook = make(client, target, subaccount_id=number)
    assert show(client, webhook)["subaccount_id"] == -1
    for source in (0, number, -1):
        assert client.put(f"{PATH}/{webhook}", {"subaccount_id": source}).status == 200
        assert show(client, webhook)["subaccount_id"] == source


@pytest.mark.spec("2.10-t12")
@pytest.mark.spec("5-r6")
def test_a_new_source_does_not_change_who_owns_a_webhook(client: Client, target: Target) -> None:
    number = make_subaccount(1).id
    own = make_key(1, number)
    webhook = make(client, target)
    assert client.put(f"{PATH}/{webhook}", {"subaccount_id": number}).status == 200
    assert own.get(PATH).results == []
    for response in (
        own.get(f"{PATH}/{webhook}"),
        own.put(f"{PATH}/{webhook}", {"name": "Mine"}),
        own.post(f"{PATH}/{webhook}/validate", None),
        own.get(f"{PATH}/{webhook}/batch-status"),
        own.post(f"{PATH}/{webhook}/signing-secret", None),
        own.delete(f"{PATH}/{webhook}"),
        client.on_behalf_of(number).delete(f"{PATH}/{webhook}"),
    ):
        assert response.status == 404
    assert client.put(f"{PATH}/{webhook}", {"name": "Still ours"}).status == 200
    assert client.delete(f"{PATH}/{webhook}").status == 204


def test_a_subaccounts_webhook_gets_no_other_events_whoever_changes_it(
    client: Client, target: Target
) -> None:
    number = make_subaccount(1).id
    webhook = make(make_key(1, number), target)
    for source in (-1, 0, make_subaccount(1).id):
        changes = {"subaccount_id": source}
        response = client.on_behalf_of(number).put(f"{PATH}/{webhook}", changes)
        message = f"subaccount_id must be {number}, which owns the webhook"
        assert fault(response, "subaccount_id") == message
    assert show(client, webhook)["subaccount_id"] == number


@pytest.mark.parametrize("source", [-2, 99_999, "0", True, 1.0])
def test_a_source_that_does_not_exist_is_refused(
    client: Client, target: Target, source: Any
) -> None:
    webhook = make(client, target)
    response = client.put(f"{PATH}/{webhook}", {"subaccount_id": source})
    assert "must be -1, 0 or the id of a subaccount" in fault(response, "subaccount_id")


def test_a_subaccounts_key_cannot_select_the_events_of_other_subaccounts(
    client: Client, target: Target
) -> None:
    number, other = make_subaccount(1).id, make_subaccount(1).id
    own = make_key(1, number)
    webhook = make(own, target)
    for source in (-1, 0, other):
        response = own.put(f"{PATH}/{webhook}", {"subaccount_id": source})
        assert "subaccount_id must be" in fault(response, "subaccount_id")
    assert own.put(f"{PATH}/{webhook}", {"subaccount_id": number}).status == 200


@pytest.mark.spec("4.9-t4")
@pytest.mark.spec("3-t16")
def test_a_new_target_is_tested_before_it_is_stored(client: Client, target: Target) -> None:
    webhook = make(client, target)
    other = target.url.replace("/hook", "/other")
    target.answer = lambda post: Reply(500 if post.path == "/other" else 200)
    response = client.put(f"{PATH}/{webhook}", {"target": other, "name": "New"})
    assert (response.status, response.error["response"]["status"]) == (400, 500)
    assert show(client, webhook)["name"] == "Ours"
    target.answer = lambda _: Reply(200)
    updated = client.put(f"{PATH}/{webhook}", {"target": other, "name": "New"}).results
    assert updated["id"] == webhook
    assert updated["links"][0]["rel"] == "urn.svc.webhooks.webhook"
    assert (show(client, webhook)["target"], show(client, webhook)["name"]) == (other, "New")


@pytest.mark.spec("4.9-t4")
@pytest.mark.spec("3-t15")
def test_changes_that_keep_what_is_posted_send_no_test_post(client: Client, target: Target) -> None:
    webhook = make(client, target)
    changes = {"name": "New", "events": ["rejection", "open"], "active": False}
    client.post(f"{PATH}/{webhook}/signing-secret", None)
    assert client.put(f"{PATH}/{webhook}", {**changes, "target": target.url}).status == 200
    assert len(target.posts) == 1
    view = show(client, webhook)
    assert {name: view[name] for name in changes} == changes


def test_a_null_custom_header_counts_as_absent(client: Client, target: Target) -> None:
    webhook = make(client, target, custom_headers={"X-A": "a", "X-B": None})
    assert show(client, webhook)["custom_headers"] == {"X-A": "a"}
    assert client.put(f"{PATH}/{webhook}", {"custom_headers": {"X-A": None}}).status == 200
    assert show(client, webhook)["custom_headers"] == {}


@pytest.mark.spec("4.9-t4")
@pytest.mark.parametrize(
    "changes",
    [
        {"auth_credentials": {"username": "u", "password": "wrong"}},
        {"auth_credentials": {"username": "wrong", "password": "p"}},
        {"auth_type": "none"},
        {"auth_token": "wrong"},
        {"custom_headers": {"X-Key": "wrong"}},
    ],
)
def test_changed_authentication_is_tested_before_it_is_stored(
    client: Client, target: Target, changes: dict[str, Any]
) -> None:
    right = ("Basic dTpw", "t", "k")

    def answer(post: Post) -> Reply:
        names = ("authorization", "x-svc-webhook-token", "x-key")
        return Reply(200 if tuple(map(post.headers.get, names)) == right else 401)

    target.answer = answer
    webhook = make(
        client,
        target,
        auth_type="basic",
        auth_credentials={"username": "u", "password": "p"},
        auth_token="t",
        custom_headers={"X-Key": "k"},
    )
    before = show(client, webhook)
    response = client.put(f"{PATH}/{webhook}", {**changes, "name": "New"})
    assert (response.status, response.error["response"]["status"]) == (400, 401)
    assert response.error["message"] == "POST to webhook target URL failed"
    assert show(client, webhook) == before
    target.answer = lambda _: Reply(200)
    assert client.put(f"{PATH}/{webhook}", {**changes, "name": "New"}).status == 200
    assert show(client, webhook)["name"] == "New"


@pytest.mark.parametrize("body", [{"events": []}, {"events": ["x"]}, {"name": ""}, {"target": "x"}])
def test_an_update_is_checked_like_a_creation(
    client: Client, target: Target, body: dict[str, Any]
) -> None:
    webhook = make(client, target)
    before = show(client, webhook)
    assert client.put(f"{PATH}/{webhook}", body).status == 400
    assert show(client, webhook) == before


def test_a_webhook_can_be_updated_with_its_own_view(client: Client, target: Target) -> None:
    webhook = make(
        client,
        target,
        auth_type="basic",
        auth_credentials={"username": "u", "password": "p"},
        custom_headers={"X-A": "b"},
        auth_token="t",
    )
    before = show(client, webhook)
    assert client.put(f"{PATH}/{webhook}", before).status == 200
    assert show(client, webhook) == before


@pytest.mark.spec("4.9-t5")
def test_a_deleted_webhook_is_not_found(client: Client, target: Target) -> None:
    webhook = make(client, target)
    response = client.delete(f"{PATH}/{webhook}")
    assert (response.status, response.body) == (204, None)
    assert client.get(PATH).results == []
    for response in (
        client.get(f"{PATH}/{webhook}"),
        client.put(f"{PATH}/{webhook}", {"name": "x"}),
        client.delete(f"{PATH}/{webhook}"),
        client.post(f"{PATH}/{webhook}/validate", []),
        client.get(f"{PATH}/{webhook}/batch-status"),
    ):
        assert response.status == 404
        assert "could not be found" in response.error["message"]


@pytest.mark.cost
def test_an_id_that_is_too_long_for_a_key_is_not_looked_up(client: Client, target: Target) -> None:
    webhook, long = make(client, target), "x" * 1100
    with aws_requests() as requests:
        assert client.get(f"{PATH}/{long}").status == 404
        assert client.post(f"{PATH}/{webhook}/batches/{long}/redeliver", None).status == 404
    assert long not in str(requests)


@pytest.mark.spec("4.9-t6")
def test_validation_posts_the_given_batch_and_shows_the_answer(
    client: Client, target: Target
) -> None:
    webhook = make(client, target)
    target.answer = lambda _: Reply(200, b"thanks", {"X-Kind": "hook"})
    message = [{"svc": {"message_event": {"type": "delivery"}}}]
    results = client.post(f"{PATH}/{webhook}/validate", message).results
    assert target.posts[-1].json == message
    assert results["msg"] == "Test POST to endpoint succeeded"
    assert results["response"]["status"] == 200
    assert results["response"]["headers"]["x-kind"] == "hook"
    assert results["response"]["body"] == "thanks"


@pytest.mark.parametrize(
    ("body", "posted"),
    [
        ({"message": [{"svc": {}}]}, [{"svc": {}}]),
        ({"message": {"svc": {}}}, [{"svc": {}}]),
        ({"svc": {}}, [{"svc": {}}]),
        (None, [{"svc": {}}]),
        ({}, [{"svc": {}}]),
        ({"message": {}}, [{"svc": {}}]),
        ({"message": None}, [{"svc": {}}]),
        ([], []),
    ],
)
def test_validation_takes_a_batch_in_any_wrapping(
    client: Client, target: Target, body: Any, posted: Any
) -> None:
    webhook = make(client, target)
    assert client.post(f"{PATH}/{webhook}/validate", body).status == 200
    assert target.posts[-1].json == posted


@pytest.mark.parametrize("body", ["text", 5, {"message": "text"}, {"message": False}])
def test_a_body_that_is_no_batch_is_not_posted(client: Client, target: Target, body: Any) -> None:
    webhook = make(client, target)
    response = client.post(f"{PATH}/{webhook}/validate", body)
    assert "must be an array of events" in fault(response, "message")
    assert len(target.posts) == 1


def test_a_failed_validation_has_the_error_of_a_failed_creation(
    client: Client, target: Target
) -> None:
    webhook = make(client, target)
    target.answer = lambda _: Reply(503)
    response = client.post(f"{PATH}/{webhook}/validate", [])
    assert (response.status, response.error["code"]) == (400, 400)
    assert response.error["response"]["status"] == 503


@pytest.mark.spec("2.10-t13")
@pytest.mark.spec("4.9-t2")
@pytest.mark.spec("4.9-t3")
def test_last_success_and_failure_are_shown_in_the_requested_time_zone(
    client: Client, target: Target
) -> None:
    webhook = make(client, target)
    circuit_breakers.record_success(webhook, CircuitBreaker(), int(NINE * 1000))
    circuit_breakers.record_failure(webhook, CircuitBreaker(), int((NINE - 3600) * 1000))
    for query, success, failure in (
        ("", "2026-01-31 09:00:00", "2026-01-31 08:00:00"),
        ("?timezone=utc", "2026-01-31 09:00:00", "2026-01-31 08:00:00"),
        ("?timezone=Europe/Oslo", "2026-01-31 10:00:00", "2026-01-31 09:00:00"),
        ("?timezone=America/New_York", "2026-01-31 04:00:00", "2026-01-31 03:00:00"),
    ):
        (view,) = client.get(PATH + query).results
        assert (view["last_successful"], view["last_failure"]) == (success, failure)
        assert client.get(f"{PATH}/{webhook}{query}").results == view
    for name in ("Mars/Base", "America", "../../etc/passwd"):
        assert client.get(f"{PATH}?timezone={name}").error["param"] == "timezone"


@pytest.mark.spec("2.10-t14")
@pytest.mark.spec("4.9-t7")
@pytest.mark.spec("6-r4")
@pytest.mark.spec("8-t11")
def test_the_status_of_batches_is_shown_for_a_day(client: Client, target: Target) -> None:
    webhook = make(client, target)
    path = f"{PATH}/{webhook}/batch-status"
    with clock.use(lambda: NINE):
        for n in range(3):
            batches.record(WebhookBatch(webhook, f"{n:032x}", 350, int(NINE * 1000) + n), b"[]")
        failed = WebhookBatch(webhook, "3" * 32, 2, int(NINE * 1000), 4, 503, "", 87)
        batches.record(failed, b"[]")
        results = client.get(path).results
        assert [each["batch_id"] for each in results] == [
            "3" * 32,
            *(f"{n:032x}" for n in (2, 1, 0)),
        ]
        assert results[0] == {
            "webhook_id": webhook,
            "batch_id": "3" * 32,
            "batch_size": 2,
            "ts": "2026-01-31T09:00:00+00:00",
            "attempts": 4,
            "response_code": "503",
            "failure_code": None,
            "latency": 87,
        }
        assert len(client.get(path + "?limit=2").results) == 2
    with clock.use(lambda: NINE + 86_399):
        assert len(client.get(path).results) == 4
    with clock.use(lambda: NINE + 86_401):
        assert client.get(path).results == []
    for limit in ("0", "x", "10001"):
        assert client.get(f"{path}?limit={limit}").status == 400


def test_one_batch_is_shown_with_its_payload_and_attempts(client: Client, target: Target) -> None:
    webhook = make(client, target)
    with clock.use(lambda: NINE):
        first = WebhookBatch(
            webhook, "b1", 2, int(NINE * 1000), 1, None, "ETIMEDOUT", 87, answer="slow"
        )
        batches.record(first, b'[{"svc":{}}]')
        second = WebhookBatch(
            webhook,
            "b1",
            2,
            int(NINE * 1000) + 9000,
            2,
            503,
            "",
            12,
            answer="busy",
            earlier=pack(history(first)),
        )
        batches.record(second, None)
        results = client.get(f"{PATH}/{webhook}/batches/b1").results
        (status,) = client.get(f"{PATH}/{webhook}/batch-status").results
    assert results == status | {
        "delivered": False,
        "payload": '[{"svc":{}}]',
        "history": [
            {
                "ts": "2026-01-31T09:00:00.000Z",
                "response_code": None,
                "failure_code": "ETIMEDOUT",
                "latency": 87,
                "reason": "slow",
            },
            {
                "ts": "2026-01-31T09:00:09.000Z",
                "response_code": "503",
                "failure_code": None,
                "latency": 12,
                "response": "busy",
            },
        ],
    }
    with clock.use(lambda: NINE + 86_410):
        assert client.get(f"{PATH}/{webhook}/batches/b1").status == 404
    assert client.get(f"{PATH}/{webhook}/batches/b2").status == 404


def test_payload_and_answers_of_a_batch_need_more_than_the_grant_to_view_webhooks(
    client: Client, target: Target
) -> None:
    webhook = make(client, target)
    batches.record(
        WebhookBatch(webhook, "b", 1, clock.now_ms(), 1, 500, "", 1, answer="token"), b"[]"
    )
    path = f"{PATH}/{webhook}/batches/b"
    view, events = "webhooks/view", "message_events/view"
    for grants, has_payload in (((view,), False), ((view, events), True)):
        results = make_key(1, grants=grants).get(path).results
        assert ("payload" in results, "response" in results["history"][0]) == (has_payload, False)
        assert results["history"][0]["response_code"] == "500"
    assert make_key(1, grants=(events,)).get(path).status == 403


@pytest.mark.spec("5-r8")
@pytest.mark.spec("2.10-t6")
@pytest.mark.spec("2.10-t11")
@pytest.mark.spec("9-r2")
def test_posts_carry_basic_credentials_the_token_and_custom_headers(
    client: Client, target: Target
) -> None:
    make(
        client,
        target,
        auth_type="basic",
        auth_credentials={"username": "Aladdin", "password": "open sesame"},
        auth_token="old-token",
        custom_headers={"X-Team": "mail", "user-agent": "Ours/1"},
    )
    headers = target.posts[0].headers
    assert headers["authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    assert headers["x-svc-webhook-token"] == "old-token"
    assert (headers["x-team"], headers["user-agent"]) == ("mail", "Ours/1")


@pytest.mark.spec("2.10-t10")
def test_a_password_is_optional(client: Client, target: Target) -> None:
    make(client, target, auth_type="basic", auth_credentials={"username": "Aladdin"})
    assert target.posts[0].headers["authorization"] == "Basic QWxhZGRpbjo="


def test_an_update_keeps_the_credentials_that_it_leaves_out(client: Client, target: Target) -> None:
    webhook = make(
        client, target, auth_type="basic", auth_credentials={"username": "u", "password": "p"}
    )
    client.put(f"{PATH}/{webhook}", {"custom_headers": {"X-A": "b"}})
    client.post(f"{PATH}/{webhook}/validate", [])
    assert target.posts[-1].headers["authorization"] == "Basic dTpw"
    client.put(f"{PATH}/{webhook}", {"auth_type": "none", "custom_headers": {}})
    client.post(f"{PATH}/{webhook}/validate", [])
    assert "authorization" not in target.posts[-1].headers
    assert "x-a" not in target.posts[-1].headers
    response = client.put(f"{PATH}/{webhook}", {"auth_type": "basic"})
    assert "is required" in fault(response, "auth_credentials")


def test_secrets_are_shown_only_with_the_grant_to_change_webhooks(
    client: Client, target: Target
) -> None:
    webhook = make(
        client,
        target,
        auth_type="basic",
        auth_credentials={"username": "u", "password": "p4ssword"},
        auth_token="t0ken",
        custom_headers={"X-Key": "k3y"},
    )
    assert show(client, webhook)["auth_credentials"] == {"username": "u", "password": "p4ssword"}
    viewer = make_key(1, grants=["webhooks/view"])
    seen = str(viewer.get(f"{PATH}/{webhook}").results)
    assert not any(secret in seen for secret in ("p4ssword", "t0ken", "k3y"))


@pytest.mark.parametrize("headers", [{}, {"X-Key": "k3y"}])
def test_fields_that_a_key_may_not_see_are_left_out(
    client: Client, target: Target, headers: dict[str, str]
) -> None:
    credentials = {"username": "u", "password": "p4ssword"}
    webhook = make(
        client,
        target,
        auth_type="basic",
        auth_credentials=credentials,
        auth_token="t0ken",
        custom_headers=headers,
    )
    viewer = make_key(1, grants=["webhooks/view"])
    full = show(client, webhook)
    hidden = {"custom_headers": headers, "auth_token": "t0ken"}
    assert full.items() >= hidden.items()
    left_out = {name: value for name, value in full.items() if name not in hidden}
    expected = left_out | {"auth_credentials": {"username": "u"}}
    assert viewer.get(f"{PATH}/{webhook}").results == expected
    assert viewer.get(PATH).results == [expected]


@pytest.mark.spec("2.10-t6")
@pytest.mark.spec("2.10-t7")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("custom_headers", {"X-Key": "k3y"}),
        ("auth_token", "t0ken"),
        ("exception_subaccounts", [7]),
    ],
)
def test_null_removes_an_optional_field(
    client: Client, target: Target, field: str, value: object
) -> None:
    webhook = make(client, target)
    before = show(client, webhook)
    assert client.put(f"{PATH}/{webhook}", {field: value}).status == 200
    assert show(client, webhook)[field] == value
    assert client.put(f"{PATH}/{webhook}", {field: None}).status == 200
    assert show(client, webhook) == before
    nulls = dict.fromkeys(("name", "target", "events", "active", "auth_type", "subaccount_id"))
    assert client.put(f"{PATH}/{webhook}", nulls).status == 200
    assert show(client, webhook) == before


def test_secrets_are_stored_encrypted(client: Client, target: Target) -> None:
    webhook = make(client, target, auth_token="t0ken", custom_headers={"X-Key": "k3y"})
    (stored_webhook,) = webhook_store.of_account(1)
    assert stored_webhook.id == webhook
    assert b"t0ken" not in stored_webhook.sealed
    assert b"k3y" not in stored_webhook.sealed
    assert "t0ken" not in repr(stored_webhook)


@pytest.mark.spec("5-r3")
def test_reading_and_changing_need_different_grants(client: Client, target: Target) -> None:
    webhook = make(client, target)
    viewer = make_key(1, grants=["webhooks/view"])
    assert viewer.get(PATH).status == 200
    for response in (
        viewer.post(PATH, new(target)),
        viewer.put(f"{PATH}/{webhook}", {"name": "x"}),
        viewer.delete(f"{PATH}/{webhook}"),
        viewer.post(f"{PATH}/{webhook}/validate", []),
        viewer.post(f"{PATH}/{webhook}/signing-secret", None),
        viewer.post(f"{PATH}/{webhook}/batches/b/redeliver", None),
        make_key(1, grants=["webhooks/modify"]).get(PATH),
    ):
        assert response.status == 403
    make_account(2)
    assert make_key(2).get(f"{PATH}/{webhook}").status == 404


class TokenServer:
    """Issue numbered tokens, of which the target accepts only the last one."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.token_number = 0
        self.requests: list[Post] = []

    def __call__(self, post: Post) -> Reply:
        if post.path == "/token":
            self.requests.append(post)
            self.token_number += 1
            token = {"access_token": f"token-{self.token_number}", **self.fields}
            return Reply(200, str(token).replace("'", '"').encode())
        return Reply(200 if self.takes(post) else 401)

    def takes(self, post: Post) -> bool:
        return post.headers.get("authorization") == f"Bearer token-{self.token_number}"


def oauth2(target: Target, **details: Any) -> dict[str, Any]:
    url = target.url.replace("/hook", "/token")
    body = {"client_id": "us", "client_secret": "s3cret", "grant_type": "client_credentials"}
    return {"auth_type": "oauth2", "auth_request_details": {"url": url, "body": body} | details}


@pytest.mark.spec("5-r8")
@pytest.mark.spec("2.10-t9")
@pytest.mark.spec("2.10-t10")
def test_a_token_is_fetched_with_the_webhooks_body_stored_and_used(
    client: Client, target: Target
) -> None:
    target.answer = server = TokenServer(expires_in=3600)
    webhook = make(client, target, **oauth2(target), auth_credentials={"access_token": "mine"})
    (token_request,) = server.requests
    assert token_request.headers["content-type"] == "application/x-www-form-urlencoded"
    form = b"client_id=us&client_secret=s3cret&grant_type=client_credentials"
    assert token_request.body == form
    assert show(client, webhook)["auth_credentials"] == {
        "access_token": "token-1",
        "expires_in": 3600,
    }
    oauth.clear_cache()  # as in another process
    for _ in range(2):
        assert client.post(f"{PATH}/{webhook}/validate", []).status == 200
    assert server.token_number == 1
    viewer = make_key(1, grants=["webhooks/view"])
    seen = viewer.get(f"{PATH}/{webhook}").results
    assert seen["auth_request_details"] == {"url": target.url.replace("/hook", "/token")}
    assert "token-1" not in str(seen)


def test_a_token_server_that_refuses_forms_gets_json(client: Client, target: Target) -> None:
    server = TokenServer()

    def answer(post: Post) -> Reply:
        form = post.headers["content-type"] == "application/x-www-form-urlencoded"
        return Reply(415) if form else server(post)

    target.answer = answer
    make(client, target, **oauth2(target))
    assert server.requests[0].json["client_secret"] == "s3cret"


@pytest.mark.spec("5-r8")
@pytest.mark.parametrize("status", [400, 401])
def test_a_refused_token_is_replaced_and_the_post_repeated(
    client: Client, target: Target, status: int
) -> None:
    server = TokenServer(expires_in=3600)
    target.answer = server
    webhook = make(client, target, **oauth2(target))
    server.token_number = 7  # the target refuses the stored token

    def answer(post: Post) -> Reply:
        return server(post) if post.path == "/token" or server.takes(post) else Reply(status)

    target.answer = answer
    assert client.post(f"{PATH}/{webhook}/validate", []).status == 200
    assert server.token_number == 8
    assert show(client, webhook)["auth_credentials"]["access_token"] == "token-8"


def test_a_token_is_replaced_shortly_before_it_expires(client: Client, target: Target) -> None:
    target.answer = server = TokenServer(expires_in="600")
    webhook = make(client, target, **oauth2(target))
    now = clock.now()
    with clock.use(lambda: now + 560):
        client.post(f"{PATH}/{webhook}/validate", [])
        assert server.token_number == 1
    with clock.use(lambda: now + 580):
        client.post(f"{PATH}/{webhook}/validate", [])
    assert server.token_number == 2


def test_a_token_that_another_process_fetched_is_used(client: Client, target: Target) -> None:
    target.answer = server = TokenServer()
    webhook = make(client, target, **oauth2(target))
    cache = dict(oauth._cache)
    (stored_webhook,) = webhook_store.of_account(1)
    credentials = open_sealed(stored_webhook.sealed, stored_webhook.id)
    oauth.fetch(webhook, credentials)
    oauth._cache.clear()
    oauth._cache.update(cache)
    assert client.post(f"{PATH}/{webhook}/validate", []).status == 200
    assert server.token_number == 2


@pytest.mark.spec("5-r8")
@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(403, b"no"), 403),
        (Reply(200, b"no JSON"), 200),
        (Reply(200, b"[]"), 200),
        (Reply(200, b"[" * 16_000), 200),
    ],
)
def test_a_failure_to_obtain_a_token_is_a_400(
    client: Client, target: Target, reply: Reply, status: int
) -> None:
    target.answer = lambda post: reply if post.path == "/token" else Reply(200)
    response = client.post(PATH, new(target, **oauth2(target)))
    error = response.error
    assert (response.status, error["code"]) == (400, 400)
    assert error["message"] == "POST to webhook tokens URL failed"
    assert error["response"]["status"] == status
    webhook = make(client, target)
    assert client.put(f"{PATH}/{webhook}", oauth2(target)).status == 400
    assert show(client, webhook)["auth_type"] == "none"


def test_changed_token_details_fetch_a_new_token(client: Client, target: Target) -> None:
    target.answer = server = TokenServer()
    webhook = make(client, target, **oauth2(target))
    changed = oauth2(target, body={"client_id": "others"})
    assert client.put(f"{PATH}/{webhook}", changed).status == 200
    assert server.token_number == 2
    assert server.requests[-1].body == b"client_id=others"


def test_a_setting_turns_on_the_vendors_names(
    client: Client, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENDOR_ALIAS", "true")
    settings.cache_clear()
    results = client.post(PATH, new(target, auth_token="t")).results
    assert {link["rel"] for link in results["links"]} == {
        "urn.msys.webhooks.webhook",
        "urn.msys.webhooks.validate",
        "urn.msys.webhooks.batches",
    }
    (ping,) = target.posts
    assert ping.body == b'[{"msys":{}}]'
    assert ping.headers["x-messagesystems-webhook-token"] == "t"
    assert ping.headers["x-messagesystems-batch-id"]
    (first, *_) = client.get(f"{PATH}/events/samples").results
    assert list(first) == ["msys"]


@pytest.mark.spec("4.9-t8")
def test_the_documentation_describes_every_type_and_field(client: Client) -> None:
    documentation = Client("").get(f"{PATH}/events/documentation").results
    assert len(documentation) == 7
    assert sum(len(wrapper["events"]) for wrapper in documentation.values()) == 27
    events = {name: each for one in documentation.values() for name, each in one["events"].items()}
    assert {name for name, each in events.items() if not each["produced"]} == UNPRODUCED
    bounce = documentation["message_event"]["events"]["bounce"]
    assert bounce["display_name"] == "Bounce"
    assert bounce["event"]["bounce_class"]["sampleValue"] == "10"
    assert bounce["event"]["timestamp"]["sampleValue"] == "1767225600"
    for wrapper in documentation.values():
        for about in [wrapper, *wrapper["events"].values()]:
            assert about["description"]
            assert about["display_name"]


@pytest.mark.spec("4.9-t9")
def test_samples_are_payloads_of_the_requested_types(client: Client) -> None:
    everyone = Client("")
    assert len(everyone.get(f"{PATH}/events/samples").results) == 27
    samples = everyone.get(f"{PATH}/events/samples?events=bounce,CLICK,rejection").results
    assert [(key, event["type"]) for each in samples for key, event in each["svc"].items()] == [
        ("message_event", "bounce"),
        ("track_event", "click"),
        ("message_event", "policy_rejection"),
    ]
    assert everyone.get(f"{PATH}/events/samples?events=bounced").status == 400
