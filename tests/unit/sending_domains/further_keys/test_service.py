"""``/sending-domains/{domain}/dkim-keys``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core.dynamo import Table, WriteConflict, decode_item
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import public_from_private
from chalicelib.dkim.model import DkimKey
from chalicelib.dkim.sealed_key import private_half
from chalicelib.sending_domains import store
from chalicelib.sending_domains.dkim_request import default_selector
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import MOST_KEYS, FurtherKey
from chalicelib.sending_domains.routes import (
    change_key,
    create_key,
    delete_domain,
    delete_key,
    list_keys,
    show_key,
    verify_key,
)
from tests.fake_cloud import aws_requests
from tests.unit.key_pairs import OTHER, PAIR
from tests.unit.sending_domains.examples import domain
from tests.unit.sending_domains.requests import error_of, request, results
from tests.unit.zones import Zone

NAME = "mail.example.test"

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture(autouse=True)
def create_sending_domain(cloud: None) -> None:
    store.create(domain())


def add(key_id: str = "k1", *, part: int = 0, **body: Any) -> Any:
    body = {"id": key_id, "selector": f"sel-{key_id}", "private": PAIR.private_pem} | body
    return results(create_key(request(body, part=part), NAME))


def not_added(body: Any, *, account: int = 1, part: int = 0) -> dict[str, Any]:
    return error_of(lambda: create_key(request(body, account=account, part=part), NAME))


def list_all(part: int | None = None) -> list[Any]:
    reply = list_keys(request(part=part), NAME)
    assert reply.body["total_count"] == len(reply.body["results"])
    keys: list[Any] = reply.body["results"]
    return keys


def change(key_id: str, **body: Any) -> Any:
    return results(change_key(request(body), NAME, key_id))


def test_an_imported_key_is_added_and_shown_without_its_private_half() -> None:
    view = add()
    assert view == {
        "id": "k1",
        "public": PAIR.public_b64,
        "selector": "sel-k1",
        "signing_domain": NAME,
        "headers": "from:to:subject:date",
        "dkim_status": "unverified",
        "creation_time": view["creation_time"],
    }
    assert results(show_key(request(part=None), NAME, "k1")) == view
    assert list_all() == [view]
    assert "PRIVATE" not in json.dumps([view, list_all()])


def test_a_key_is_generated_when_the_request_has_none() -> None:
    view = results(create_key(request({"id": "k1", "dkim_key_length": 2048}), NAME))
    assert len(view["public"]) > 300
    assert view["selector"].startswith("scph")


def test_keys_without_a_selector_get_one_that_no_other_key_has() -> None:
    first = default_selector()
    owner = store.get(NAME)
    assert owner is not None
    store.save(owner, replace(owner, dkim=DkimKey(first.upper(), NAME, "p", b"s")))
    add("other", selector=f"{first}-3")
    bodies = [{"id": "k1"}, {"id": "k2", "private": PAIR.private_pem}]
    views = [results(create_key(request(body), NAME)) for body in bodies]
    assert [view["selector"] for view in views] == [f"{first}-2", f"{first}-4"]
    for view in views:
        key = further_keys.find(NAME, view["selector"])
        assert key is not None
        assert key.key.record_name == f"{view['selector']}._domainkey.{NAME}"


@pytest.mark.parametrize("key_id", ["a", "A-z_9", "x" * 64])
def test_an_id_is_letters_digits_dashes_and_underscores(key_id: str) -> None:
    assert add(key_id, selector="s2")["id"] == key_id


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "1400"),
        ({"id": ""}, "1300"),
        ({"id": "x" * 65}, "1300"),
        ({"id": "two words"}, "1300"),
        ({"id": "a.b"}, "1300"),
        ({"id": "default"}, "1300"),
        ({"id": 7}, "1300"),
        ({"id": "k", "public": PAIR.public_b64}, "1400"),
        ({"id": "k", "private": PAIR.private_pem, "public": OTHER.public_b64}, "1300"),
        ({"id": "k", "dkim_key_length": 512}, "1300"),
    ],
)
def test_a_key_with_invalid_fields_is_refused(body: dict[str, Any], code: str) -> None:
    error = not_added(body)
    assert (error["status"], error["code"]) == (422, code)
    assert list_all() == []


def test_ids_and_selectors_are_unique_within_a_domain() -> None:
    add("k1", selector="one")
    for body in (
        {"id": "k1", "selector": "two"},
        {"id": "k2", "selector": "ONE"},
        {"id": "k2", "selector": "s1"},
    ):
        error = not_added({**body, "private": PAIR.private_pem})
        assert (error["status"], error["code"]) == (409, "1602")
    add("K1", selector="two")
    assert [key["id"] for key in list_all()] == ["K1", "k1"]


def test_a_domain_has_at_most_256_keys() -> None:
    sending_domain = store.get(NAME)
    assert sending_domain is not None
    items: list[dict[str, Any]] = []
    for number in range(MOST_KEYS - 1):
        key = FurtherKey(f"k{number}", DkimKey(f"n{number}", NAME, "p", b"s"), 1.0)
        items.append(further_keys._put_key(NAME, key, new=True).arguments["Item"])
    Table("config").write_all([decode_item(item) for item in items])
    add("last")
    error = not_added({"id": "more", "private": PAIR.private_pem, "selector": "more"})
    assert (error["status"], error["code"]) == (422, "1300")
    assert "256" in error["description"]


def test_keys_of_a_domain_outside_the_scope_are_not_found() -> None:
    add()
    for account, part in ((2, 0), (1, 7)):
        assert not_added({"id": "k2"}, account=account, part=part)["code"] == "1600"
        caller = request({}, account=account, part=part)
        for view in (show_key, change_key, delete_key, verify_key):
            assert error_of(lambda v=view, c=caller: v(c, NAME, "k1"))["code"] == "1600"
        assert error_of(lambda c=caller: list_keys(c, NAME))["code"] == "1600"


@pytest.mark.parametrize("key_id", ["none", "default", "x" * 3000, "a b", "é"])
def test_a_key_that_does_not_exist_is_not_found(key_id: str) -> None:
    for view in (show_key, change_key, delete_key, verify_key):
        error = error_of(lambda v=view: v(request({}), NAME, key_id))
        assert (error["status"], error["code"]) == (404, "1600")


@pytest.mark.cost
def test_a_verified_key_is_found_by_its_selector_in_one_request(zone: Zone) -> None:
    add()
    zone.set(f"sel-k1._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    verified = results(verify_key(request(), NAME, "k1"))
    assert verified["dkim_status"] == "valid"
    assert verified["dns"] == {"dkim_record": txt_record(PAIR.public_b64)}
    with aws_requests() as requests:
        further = further_keys.find(NAME, "SEL-k1")
    assert further is not None
    assert (further.id, further.status, len(requests)) == ("k1", "valid", 1)
    private = private_half(further.key)
    assert public_from_private(private) == PAIR.public_b64


def test_a_key_without_its_record_is_invalid_and_the_response_says_why(zone: Zone) -> None:
    add()
    view = results(verify_key(request(), NAME, "k1"))
    assert view["dkim_status"] == "invalid"
    assert "no TXT record" in view["dns"]["dkim_error"]
    assert results(show_key(request(), NAME, "k1"))["dkim_status"] == "invalid"


def test_a_change_of_headers_keeps_a_key_verified_and_any_other_change_does_not(zone: Zone) -> None:
    add()
    zone.set(f"sel-k1._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    verify_key(request(), NAME, "k1")
    assert change("k1", headers="from:to")["dkim_status"] == "valid"
    changed = change("k1", private=OTHER.private_pem)
    assert (changed["dkim_status"], changed["public"]) == ("unverified", OTHER.public_b64)
    assert (changed["selector"], changed["headers"]) == ("sel-k1", "from:to")


def test_a_key_is_found_under_its_new_selector_only() -> None:
    add("k1")
    add("k2")
    moved = change("k1", selector="moved")
    assert moved["selector"] == "moved"
    assert further_keys.find(NAME, "sel-k1") is None
    further = further_keys.find(NAME, "moved")
    assert further is not None
    assert further.id == "k1"
    assert results(show_key(request(), NAME, "k1")) == moved
    change("k1", selector="MOVED")
    for selector in ("sel-k2", "s1"):
        error = error_of(lambda t=selector: change("k1", selector=t))
        assert error["code"] == "1602"
    assert len(list_all()) == 2


def test_a_key_is_found_by_its_selector_or_else_by_its_id() -> None:
    add("k1", selector="one")
    add("k2", selector="k1")
    by_selector = further_keys.find(NAME, "k1")
    by_id = further_keys.find(NAME, "k2")
    assert by_selector is not None
    assert by_id is not None
    assert (by_selector.id, by_id.id) == ("k2", "k2")
    assert further_keys.find(NAME, "none") is None


def test_the_id_and_selector_of_a_deleted_key_can_be_used_again() -> None:
    add()
    reply = delete_key(request(), NAME, "k1")
    assert (reply.status, reply.body) == (204, b"")
    assert list_all() == []
    assert further_keys.find(NAME, "sel-k1") is None
    add()


def test_deleting_a_domain_deletes_its_keys() -> None:
    add("k1")
    add("k2")
    delete_domain(request(), NAME)
    page = Table("config").query("#pk = :pk", {"pk": f"domain#{NAME}"})
    assert [item["sk"] for item in page.items] == ["claim"]


def test_a_key_is_not_added_to_a_domain_that_was_changed_or_deleted_meanwhile() -> None:
    sending_domain = store.get(NAME)
    assert sending_domain is not None
    key = FurtherKey("k1", DkimKey("x", NAME, "p", b"s"), 1.0)
    store.save(sending_domain, replace(sending_domain, tracking_domain="t.test"))
    with pytest.raises(WriteConflict):
        further_keys.add(sending_domain, key)
    newer = store.get(NAME)
    assert newer is not None
    store.delete(newer)
    with pytest.raises(WriteConflict):
        further_keys.add(newer, key)
    assert store.get(NAME) is None


@pytest.mark.parametrize(
    "change_to", [{"private": OTHER.private_pem}, {"signing_domain": "other.test"}]
)
def test_a_check_does_not_change_the_status_of_a_key_that_was_replaced_meanwhile(
    change_to: dict[str, str],
) -> None:
    add()
    before, owner = further_keys.get(NAME, "k1"), store.get(NAME)
    assert before is not None
    assert owner is not None
    change("k1", **change_to)
    assert further_keys.set_status(owner, before, "valid") is None
    now = further_keys.get(NAME, "k1")
    assert now is not None
    assert now.status == "unverified"
