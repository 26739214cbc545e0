"""Showing, listing and deleting ``/sending-domains``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.sending_domains import store
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.sending_domains.routes import (
    delete_domain,
    list_domains,
    list_keys,
    show_domain,
    update_domain,
    verify_domain,
)
from tests.unit.sending_domains.examples import VERIFIED, domain
from tests.unit.sending_domains.requests import error_of, request, results

pytestmark = pytest.mark.usefixtures("cloud")


def list_names(part: int | None = None, account: int = 1, **query: str) -> list[str]:
    views = results(list_domains(request(account=account, part=part, query=query)))
    return [each["domain"] for each in views]


@pytest.mark.spec("4.4-t3")
@pytest.mark.spec("2.5-t3")
@pytest.mark.spec("2.5-t8")
def test_a_domain_is_shown_without_its_name() -> None:
    store.create(domain(tracking_domain="t.test"))
    view = results(show_domain(request(part=None), "Mail.example.test"))
    assert view == {
        "tracking_domain": "t.test",
        "status": {
            "ownership_verified": True,
            "spf_status": "unverified",
            "abuse_at_status": "unverified",
            "dkim_status": "valid",
            "cname_status": "valid",
            "mx_status": "unverified",
            "postmaster_at_status": "unverified",
            "verification_mailbox_status": "unverified",
            "compliance_status": "valid",
        },
        "dkim": {
            "public": "MIIBpublic",
            "selector": "s1",
            "signing_domain": "mail.example.test",
            "headers": "from:to:subject",
        },
        "shared_with_subaccounts": False,
        "is_default_bounce_domain": False,
        "creation_time": "2026-01-31T09:00:00+00:00",
    }


@pytest.mark.spec("2.5-t6")
@pytest.mark.spec("2.5-t9")
def test_fields_that_do_not_apply_are_left_out() -> None:
    sending_domain = domain(subaccount_id=7, dkim=None, delegated=True)
    store.create(sending_domain)
    view = results(show_domain(request(part=7), "mail.example.test"))
    assert view["subaccount_id"] == 7
    assert view["delegated"] is True
    assert not {"dkim", "shared_with_subaccounts", "tracking_domain", "domain"} & set(view)
    store.create(domain("b.test"))
    assert not {"delegated", "subaccount_id"} & set(results(show_domain(request(), "b.test")))


def test_a_nominated_mailbox_is_shown_if_there_is_one() -> None:
    store.create(domain(status=DomainStatus(verification_mailbox="susan")))
    view = results(show_domain(request(), "mail.example.test"))
    assert view["status"]["verification_mailbox"] == "susan"


def test_the_private_half_of_a_key_is_never_shown() -> None:
    store.create(domain())
    replies = [
        show_domain(request(), "mail.example.test").body,
        list_domains(request(part=None)).body,
    ]
    assert "sealed" not in json.dumps(replies)
    assert "private" not in json.dumps(replies)


@pytest.mark.spec("5-r6")
def test_each_part_of_an_account_sees_its_own_domains() -> None:
    store.create(domain("c.test"))
    store.create(domain("a.test", subaccount_id=7))
    store.create(domain("b.test", subaccount_id=8))
    store.create(domain("d.test", account=2))
    assert list_names() == ["a.test", "b.test", "c.test"]
    assert list_names(0) == ["c.test"]
    assert list_names(7) == ["a.test"]
    assert list_names(8) == ["b.test"]
    assert list_names(9) == []
    for part, account in ((8, 1), (0, 1), (None, 2)):
        error = error_of(
            lambda p=part, a=account: show_domain(request(account=a, part=p), "a.test")
        )
        assert (error["status"], error["code"]) == (404, "1600")
        assert error["description"] == "Domain 'a.test' does not exist"


@pytest.mark.spec("2.5-t5")
def test_a_shared_domain_is_shown_to_every_subaccount_without_its_key() -> None:
    store.create(domain("c.test", shared_with_subaccounts=True))
    store.create(domain("b.test", shared_with_subaccounts=True, account=2))
    store.create(domain("d.test"))
    store.create(domain("e.test", subaccount_id=7))
    assert list_names(7) == ["c.test", "e.test"]
    assert list_names(8, dkim_status="valid") == ["c.test"]
    assert list_names(8, dkim_status="invalid") == []
    views = results(list_domains(request(part=8)))
    view = results(show_domain(request(part=8), "c.test"))
    assert views == [{"domain": "c.test"} | view]
    assert "dkim" not in view
    assert (view["shared_with_subaccounts"], view["status"]["dkim_status"]) == (True, "valid")
    for part in (None, 0):
        assert "dkim" in results(show_domain(request(part=part), "c.test"))
    assert error_of(lambda: show_domain(request(part=7), "d.test"))["status"] == 404


def test_a_subaccount_cannot_change_a_domain_that_is_shared_with_it() -> None:
    store.create(domain("c.test", shared_with_subaccounts=True))
    body = {"shared_with_subaccounts": False}
    for call in (
        lambda: update_domain(request(body, part=7), "c.test"),
        lambda: delete_domain(request(part=7), "c.test"),
        lambda: verify_domain(request({}, part=7), "c.test"),
        lambda: list_keys(request(part=7), "c.test"),
    ):
        assert error_of(call)["status"] == 404
    assert store.get("c.test") == domain("c.test", shared_with_subaccounts=True)


@pytest.mark.spec("4.4-t6")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"ownership_verified": "true"}, ["blocked.test", "verified.test"]),
        ({"ownership_verified": "false"}, ["new.test"]),
        ({"dkim_status": "valid"}, ["blocked.test", "verified.test"]),
        ({"dkim_status": "pending"}, ["new.test"]),
        ({"cname_status": "invalid"}, ["new.test"]),
        ({"cname_status": "valid", "compliance_status": "valid"}, ["verified.test"]),
        ({"mx_status": "unverified"}, ["blocked.test", "new.test", "verified.test"]),
        ({"abuse_at_status": "valid"}, []),
        ({"postmaster_at_status": "unverified"}, ["blocked.test", "new.test", "verified.test"]),
        ({"compliance_status": "blocked"}, ["blocked.test"]),
        ({"is_default_bounce_domain": "true"}, ["verified.test"]),
        ({"is_default_bounce_domain": "false"}, ["blocked.test", "new.test"]),
        ({"unknown": "parameter"}, ["blocked.test", "new.test", "verified.test"]),
    ],
)
def test_the_list_is_narrowed_by_each_filter(query: dict[str, str], names: list[str]) -> None:
    blocked = DomainStatus(True, dkim_status="valid", compliance_status="blocked")
    new = DomainStatus(dkim_status="pending", cname_status="invalid")
    store.create(domain("verified.test", status=VERIFIED, is_default_bounce_domain=True))
    store.create(domain("blocked.test", status=blocked))
    store.create(domain("new.test", status=new))
    assert list_names(**query) == names


@pytest.mark.spec("2.5-t7")
def test_a_subaccount_sees_its_own_default_bounce_domain_only() -> None:
    store.create(domain("a.test", is_default_bounce_domain=True, shared_with_subaccounts=True))
    store.create(domain("b.test", is_default_bounce_domain=True, subaccount_id=7))

    def defaults_in(part: int | None) -> list[str]:
        query = {"is_default_bounce_domain": "true"}
        views = results(list_domains(request(part=part, query=query)))
        assert all(view["is_default_bounce_domain"] for view in views)
        return [view["domain"] for view in views]

    parts = (None, 0, 7, 8)
    assert [defaults_in(part) for part in parts] == [
        ["a.test", "b.test"],
        ["a.test"],
        ["b.test"],
        [],
    ]
    shared = results(show_domain(request(part=7), "a.test"))
    assert not shared["is_default_bounce_domain"]


@pytest.mark.parametrize(
    "query",
    [{"dkim_status": "Valid"}, {"compliance_status": "pending"}, {"ownership_verified": "1"}],
)
def test_a_filter_with_another_value_is_refused(query: dict[str, str]) -> None:
    error = error_of(lambda: list_domains(request(query=query)))
    assert (error["status"], error["code"]) == (400, "1200")
    assert next(iter(query)) in error["description"]


@pytest.mark.spec("4.4-t5")
@pytest.mark.spec("7-t18")
def test_a_deleted_domain_is_not_found() -> None:
    store.create(domain(is_default_bounce_domain=True))
    reply = delete_domain(request(), "MAIL.example.test")
    assert (reply.status, reply.body) == (204, b"")
    assert store.get("mail.example.test") is None
    assert list_names() == []
    error = error_of(lambda: delete_domain(request(), "mail.example.test"))
    assert (error["status"], error["code"]) == (404, "1600")


def test_another_account_can_register_a_deleted_domain() -> None:
    store.create(domain("example.test"))
    delete_domain(request(), "example.test")
    assert store.create(domain("mail.example.test", account=2))


def test_a_domain_of_another_owner_cannot_be_deleted() -> None:
    store.create(domain())
    for account, part in ((2, 0), (1, 7)):
        error = error_of(
            lambda a=account, p=part: delete_domain(request(account=a, part=p), "mail.example.test")
        )
        assert error["code"] == "1600"
    assert store.get("mail.example.test") is not None


@pytest.mark.parametrize("name", ["", "x" * 3000, "é" * 500, "\ud800.test", "no dot", "a/b"])
def test_a_path_without_a_valid_domain_name_is_not_found(name: str) -> None:
    views: list[Any] = [show_domain, delete_domain]
    for view in views:
        assert error_of(lambda v=view: v(request(), name))["status"] == 404
