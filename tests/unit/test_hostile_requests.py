"""Requests that are made to cost end in a refusal at every route, and cost others nothing.

Their texts are read in proportion to their length, whatever stands in them.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable

import pytest

from app import app
from chalicelib.core import domain_names, logs, web_address
from chalicelib.core.errors import ServiceError
from chalicelib.core.strict_json import MAX_DEPTH
from chalicelib.delivery.outcome import clean_reply
from chalicelib.dkim import dns_record, key_pair
from chalicelib.events import keywords
from chalicelib.metrics.counting import canonical_reason
from chalicelib.metrics.query_filters import parse as parse_filters
from chalicelib.templates import header_source
from chalicelib.tracking import user_agents
from chalicelib.tracking.locations import location
from tests.unit.calling import Client
from tests.unit.core.gateway_events import event
from tests.unit.linear_time import assert_linear
from tests.unit.people import make_account, make_key

ROUTES = [
    (each.method, each.path)
    for each in app.declared_routes()
    if each.path.startswith("/api/v1/") and each.method in {"POST", "PUT"}
]
MANY = 100_000
DEEP = [b"[" * MANY, b'{"a":' * MANY, b"[" * MANY + b"]" * MANY, b'{"substitution_data":' * 999]


@pytest.fixture
def client(cloud: None) -> Client:
    make_account()
    return make_key()


#: Routes that anybody may call and that read no body
WITHOUT_BODY = ("/api/v1/sign-in/passkey/options",)


def call(client: Client, method: str, path: str, body: bytes, **headers: str) -> int:
    """Return the status of a request with these bytes."""
    place = "/".join("1" if part.startswith("{") else part for part in path.split("/"))
    fields = {"Authorization": client.key, "Content-Type": "application/json", **headers}
    response = app(event(app, method, place, headers=fields, body=body), None)
    return int(response["statusCode"])


def test_a_body_nested_without_end_is_refused_at_every_route(client: Client) -> None:
    statuses: Counter[int] = Counter()
    for method, path in ROUTES:
        for body in DEEP:
            status = call(client, method, path, body)
            statuses[status] += 1
            # Batches of events are checked line by line once they are accepted
            is_accepted = path in ("/api/v1/ingest/events", *WITHOUT_BODY)
            assert 400 <= status < 500 or is_accepted, (method, path, status)
    assert statuses[422] > 100
    assert statuses[429] == 0


@pytest.mark.parametrize("field", ["substitution_data", "metadata", "options"])
def test_values_nested_beyond_the_limit_are_refused_wherever_they_stand(
    client: Client, field: str
) -> None:
    value = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    recipient = b'{"address":"a@b.test","%s":{"v":%s}}' % (field.encode(), value)
    body = b'{"recipients":[%s],"content":{"template_id":"t"}}' % recipient
    assert call(client, "POST", "/api/v1/transmissions", body) == 422


def test_a_packed_body_is_unpacked_at_no_route(client: Client) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    assert len(bomb) < 20_000
    statuses: Counter[int] = Counter()
    for method, path in ROUTES:
        status = call(client, method, path, bomb, **{"Content-Encoding": "gzip"})
        statuses[status] += 1
        assert 400 <= status < 500 or path in WITHOUT_BODY, (method, path, status)
    assert statuses[415] > 25
    assert statuses[429] == 0


def test_thousands_of_headers_and_parameters_are_read(client: Client) -> None:
    headers = {f"X-Header-{number}": "x" * 100 for number in range(5000)}
    assert call(client, "GET", "/api/v1/account", b"", **headers) == 200
    query = "&".join(f"p{number}=x" for number in range(5000))
    assert client.get(f"/api/v1/templates?{query}").status < 500


@pytest.mark.parametrize("text", ["[" * MANY, '{"groupings":' * MANY, '{"a":' * MANY])
def test_filters_nested_without_end_are_refused(text: str) -> None:
    with pytest.raises(ServiceError) as error:
        parse_filters(text)
    assert error.value.status == 400


def _or_refused(read: Callable[..., object]) -> Callable[[str], object]:
    def read_or_refuse(text: str) -> object:
        try:
            return read(text)
        except ValueError:
            return None
        except ServiceError:
            return None

    return read_or_refuse


def _match_keyword(text: str) -> bool:
    return keywords.matcher(["a b"])(text)


READERS: dict[str, Callable[[str], object]] = {
    "user agent": user_agents.parse,
    "log line": logs._without_addresses,
    "reply": clean_reply,
    "reason": canonical_reason,
    "web address": _or_refused(web_address.read),
    "domain": domain_names.normalize,
    "public key": _or_refused(key_pair.canonical_public),
    "DKIM record": _or_refused(lambda text: dns_record.matching_record([text], "QQ==")),
    "keywords": _match_keyword,
    "header source": lambda text: header_source.source_of("Subject", text.encode()),
    "target": location,
}
ATOMS = ["a", "a ", " ", "\t\r\n", "a@", "a.", "-", "=?", "{{", "1", "%41", "/", "://", "http://a"]
STARTS = ["", "-----BEGIN A-----", "https://", "Mozilla/5.0 (", "v=DKIM1; p=", "{{"]


@pytest.mark.parametrize("name", READERS)
def test_hostile_texts_take_linear_time(name: str) -> None:
    for start in STARTS:
        for atom in ATOMS:
            assert_linear(READERS[name], start + atom * (20_000 // len(atom)) + "\0")
