from __future__ import annotations

from collections.abc import Iterator

import pytest

from app import app
from chalicelib.core import clock
from chalicelib.core.queues import read
from tests.fake_cloud import queued
from tests.unit.calling import Client
from tests.unit.core.gateway_events import event
from tests.unit.ingest.examples import NOW, given, packed, take, work_off
from tests.unit.people import make_account, make_key, make_subaccount

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
    sent = {"Authorization": client.key, "Content-Encoding": "gzip", **client.headers, **headers}
    return int(app(event(app, "POST", PATH, headers=sent, body=body), None)["statusCode"])


def test_a_batch_is_taken_and_has_an_id(client: Client) -> None:
    name = client.post(PATH, given()).results["id"]
    (body,) = queued("ingest")
    assert read(body).head["id"] == name


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson", "application/gzip"])
def test_the_bytes_of_a_gzipped_batch_are_taken(client: Client, kind: str) -> None:
    assert post(client, packed(given(), given(1)), **{"Content-Type": kind}) == 200
    (body,) = queued("ingest")
    assert len(work_off(body)) == 3


def test_a_batch_is_of_the_subaccount_that_the_header_names(client: Client) -> None:
    owner = make_subaccount()
    assert post(client.on_behalf_of(owner.id), packed(given())) == 200
    (body,) = queued("ingest")
    assert read(body).head["subaccount_id"] == owner.id


@pytest.mark.spec("7-t1")
@pytest.mark.spec("7-t3")
def test_bad_batches_and_keys_without_the_grant_are_refused(client: Client) -> None:
    assert post(client, b"") == 400
    assert post(client, packed(given())[:-4]) == 400
    assert post(make_key(grants=["message_events/view"]), packed(given())) == 403
    assert queued("ingest") == []


def test_the_failures_are_read_by_their_link_without_a_key() -> None:
    *_, outcome = work_off(take("junk"))
    path = outcome["href"].removeprefix("http://localhost:8080")
    answer = app(event(app, "GET", path), None)
    assert answer["statusCode"] == 200
    assert answer["headers"]["Content-Type"] == "application/x-ndjson"
    assert Client("").get(path + "x").status == 404
