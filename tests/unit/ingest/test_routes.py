from __future__ import annotations

from collections.abc import Iterator

import pytest

from app import app
from chalicelib.core import clock
from chalicelib.core.queues import read
from chalicelib.core.settings import settings
from tests.fake_cloud import aws_requests, queued
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.core.gateway_events import event
from tests.unit.ingest.examples import NOW, accept, batch_body, outside_event, process
from tests.unit.people import make_account, make_key, make_subaccount, make_user, sign_in

PATH = "/api/v1/ingest/events"


@pytest.fixture(autouse=True)
def _at_ten_past_nine(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


@pytest.fixture
def client() -> Client:
    make_account()
    return make_key()


def post(client: Client, body: bytes, **headers: str) -> int:
    all_headers = {
        "Authorization": client.key,
        "Content-Encoding": "gzip",
        **client.headers,
        **headers,
    }
    return int(app(event(app, "POST", PATH, headers=all_headers, body=body), None)["statusCode"])


def test_a_batch_is_accepted_and_has_an_id(client: Client) -> None:
    name = client.post(PATH, outside_event()).results["id"]
    (body,) = queued("ingest")
    assert read(body).head["id"] == name


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson", "application/gzip"])
def test_a_gzipped_batch_is_accepted_as_any_content_type(client: Client, kind: str) -> None:
    assert (
        post(client, batch_body(outside_event(), outside_event(1)), **{"Content-Type": kind}) == 200
    )
    (message,) = queued("ingest")
    assert len(process(message)) == 3


def test_a_batch_belongs_to_the_subaccount_in_the_header(client: Client) -> None:
    owner = make_subaccount()
    assert post(client.on_behalf_of(owner.id), batch_body(outside_event())) == 200
    (body,) = queued("ingest")
    assert read(body).head["subaccount_id"] == owner.id


@pytest.mark.spec("7-t1")
@pytest.mark.spec("7-t3")
def test_bad_batches_and_keys_without_the_grant_are_refused(client: Client) -> None:
    assert post(client, b"") == 400
    assert post(client, batch_body(outside_event())[:-4]) == 400
    assert post(make_key(grants=["message_events/view"]), batch_body(outside_event())) == 403
    assert queued("ingest") == []


def test_the_failures_are_read_by_their_link_without_a_key() -> None:
    *_, result = process(accept("junk"))
    path = result["href"].removeprefix("http://localhost:8080")
    response = app(event(app, "GET", path), None)
    assert response["statusCode"] == 200
    assert response["headers"]["Content-Type"] == "application/x-ndjson"
    assert Client("").get(path + "x").status == 404


@pytest.mark.cost
def test_a_batch_of_a_user_is_a_line_in_the_audit_log_and_one_by_key_only_where_all_are(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with aws_requests() as requests:
        assert client.post(PATH, outside_event()).status == 200
    assert "PutItem" not in [each.operation for each in requests]
    assert lines() == []
    browser = sign_in(make_user())
    name = browser.post(PATH, outside_event()).results["id"]
    action, resource, resource_id, changes = told()
    assert (action, resource, resource_id) == ("POST", "ingest", name)
    assert changes["bytes"]["to"] > 0
    assert browser.post(PATH, None).status == 400
    assert lines() == []
    monkeypatch.setenv("AUDIT_SENDS", "all")
    settings.cache_clear()
    assert client.post(PATH, outside_event()).status == 200
    assert told()[1] == "ingest"
