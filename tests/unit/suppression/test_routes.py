from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.suppression import routes, service
from chalicelib.suppression.request import LARGEST_BULK
from tests.unit.refusals import refusal_errors
from tests.unit.suppression.examples import entries_of, entry, request

ANN = "ann@x.test"


@pytest.mark.spec("4.8-t1")
def test_a_bulk_load_is_stored_and_acknowledged(account: int) -> None:
    recipients = [
        {"recipient": ANN, "type": "transactional", "description": "why"},
        {"recipient": "bob@x.test", "non_transactional": True},
    ]
    reply = routes.load(request(account, {"recipients": recipients}, part=0))
    assert reply.status == 200
    assert reply.body == {"results": {"message": "Suppression List successfully updated"}}
    body = routes.find(request(account)).body
    assert body["total_count"] == 2
    assert {each["recipient"]: each["type"] for each in body["results"]} == {
        ANN: "transactional",
        "bob@x.test": "non_transactional",
    }


@pytest.mark.spec("4.8-t1")
def test_a_bulk_load_with_a_malformed_entry_writes_nothing(account: int) -> None:
    recipients = [{"recipient": ANN, "type": "transactional"}, {"recipient": "bad", "type": "x"}]
    status, (error,) = refusal_errors(
        routes.load, request(account, {"recipients": recipients}, part=0)
    )
    assert status == 400
    assert error["message"].endswith("contains 1 invalid or malformed recipient(s): bad")
    assert routes.find(request(account)).body["total_count"] == 0


@pytest.mark.spec("8-t10")
def test_a_bulk_load_has_at_most_fifty_megabytes(account: int) -> None:
    large = request(account, part=0)
    large.raw_body = b" " * (LARGEST_BULK + 1)
    assert refusal_errors(routes.load, large)[0] == 413


@pytest.mark.spec("4.8-t2")
def test_an_entry_is_put_under_its_recipient(account: int) -> None:
    body = {"type": "non_transactional", "description": "why", "list_id": "News.1"}
    reply = routes.put_entry(request(account, body, part=7), "Ann@X.test")
    assert reply.body == {"results": {"message": "Suppression list successfully updated"}}
    page = routes.show_recipient(request(account, part=7), ANN).body
    (view,) = page["results"]
    assert view.pop("created") == view.pop("updated")
    assert view == {
        "recipient": ANN,
        "type": "non_transactional",
        "source": "Manually Added",
        "description": "why",
        "list_id": "News.1",
        "subaccount_id": 7,
        "transactional": False,
        "non_transactional": True,
    }
    assert (page["links"], page["total_count"]) == ([], 1)


@pytest.mark.spec("4.8-t2")
@pytest.mark.parametrize(
    ("recipient", "body", "message"),
    [
        (ANN, {}, "Must supply a suppression type"),
        ("nobody", {"type": "transactional"}, "Recipient must be a valid email address"),
        (ANN, {"type": "open_tracking", "list_id": "a"}, "list_id is not allowed for type"),
    ],
)
def test_a_refusal_carries_a_message_and_no_code(
    account: int, recipient: str, body: Any, message: str
) -> None:
    status, (error,) = refusal_errors(routes.put_entry, request(account, body, part=0), recipient)
    assert status == 400
    assert set(error) == {"message"}
    assert error["message"].startswith(message)


def test_a_refusal_of_the_common_readers_carries_no_code_either(account: int) -> None:
    status, errors = refusal_errors(routes.find, request(account, per_page="0"))
    assert (status, errors) == (400, [{"message": "per_page must be an integer from 1 to 10000"}])
    status, (error,) = refusal_errors(routes.load, request(account, part=0))
    assert status == 422
    assert set(error) == {"message"}
    assert "json" in error["message"]


@pytest.mark.spec("4.8-r3")
@pytest.mark.spec("4.8-t3")
def test_a_recipient_is_shown_with_the_requested_types_or_is_not_found(account: int) -> None:
    service.put_all(account, None, [entry(ANN, "open_tracking")])
    missing = (404, [{"message": "Recipient could not be found"}])
    assert refusal_errors(routes.show_recipient, request(account), ANN) == missing
    assert refusal_errors(routes.show_recipient, request(account), "bob@x.test") == missing
    assert refusal_errors(routes.show_recipient, request(account), "nonsense") == missing
    page = routes.show_recipient(request(account, types="open_tracking"), ANN).body
    assert page["total_count"] == 1
    service.put_all(account, None, [entry(ANN), entry(ANN, "transactional")])
    page = routes.show_recipient(request(account), ANN).body
    assert {each["type"] for each in page["results"]} == {"transactional", "non_transactional"}


@pytest.mark.spec("4.8-t3")
def test_the_entries_of_a_recipient_come_in_pages(account: int) -> None:
    for owner in (None, 7, 77):
        service.put_all(account, owner, [entry(ANN)])
    entries = routes.show_recipient(request(account), ANN).body["results"]
    pages = [
        routes.show_recipient(request(account, per_page="2", page=page), ANN).body
        for page in ("1", "2", "3")
    ]
    assert [page["results"] for page in pages] == [entries[:2], entries[2:], []]
    query = {"cursor": "initial", "per_page": "2"}
    first = routes.show_recipient(request(account, **query), ANN).body
    assert [each["rel"] for each in first["links"]] == ["first", "next"]
    url = urlsplit(first["links"][1]["href"])
    assert url.path == "/api/v1/suppression-list/ann@x.test"
    second = routes.show_recipient(request(account, **dict(parse_qsl(url.query))), ANN).body
    assert second["results"] == entries[2:]
    assert [each["rel"] for each in second["links"]] == ["first"]
    assert first["total_count"] == second["total_count"] == 3


@pytest.mark.spec("4.8-t3")
def test_pages_of_a_recipient_skip_nothing_when_an_entry_is_removed_between_them(
    account: int,
) -> None:
    lists = [f"list-{number}" for number in range(6)]
    service.put_all(account, None, [entry(ANN, list_id=each) for each in lists])
    seen: list[str] = []
    query = {"cursor": "initial", "per_page": "2"}
    while query:
        page = routes.show_recipient(request(account, part=0, **query), ANN).body
        seen += [each["list_id"] for each in page["results"]]
        routes.remove_recipient(request(account, part=0, list_id=seen[-2]), ANN)
        following = [each["href"] for each in page["links"] if each["rel"] == "next"]
        query = dict(parse_qsl(urlsplit(following[0]).query)) if following else {}
    assert sorted(seen) == lists


def test_a_page_of_a_recipient_ends_where_a_reply_is_full(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = [entry(ANN, list_id=f"list-{n}", description="x" * 1000) for n in range(6)]
    service.put_all(account, None, lists)
    monkeypatch.setenv("MAX_REPLY_BYTES", "5000")
    settings.cache_clear()
    page = routes.show_recipient(request(account, cursor="initial"), ANN).body
    assert len(page["results"]) == 3
    assert [each["rel"] for each in page["links"]] == ["first", "next"]
    assert refusal_errors(routes.show_recipient, request(account), ANN)[0] == 400


@pytest.mark.spec("4.8-t5")
def test_the_links_of_a_search_lead_from_page_to_page(account: int) -> None:
    service.put_all(account, None, [entry(f"u{n}@x.test") for n in range(5)])
    query = {"cursor": "initial", "per_page": "2", "domain": "x.test"}
    seen = []
    while True:
        page = routes.find(request(account, **query)).body
        assert page["total_count"] == 5
        seen += [each["recipient"] for each in page["results"]]
        following = [each["href"] for each in page["links"] if each["rel"] == "next"]
        if not following:
            break
        query = dict(parse_qsl(urlsplit(following[0]).query))
        assert query["domain"] == "x.test"
    assert sorted(seen) == [f"u{n}@x.test" for n in range(5)]
    assert routes.find(request(account, per_page="2")).body["links"] == []


@pytest.mark.spec("4.8-t4")
@pytest.mark.spec("4.8-r4")
def test_a_removal_may_have_a_body_and_has_an_empty_reply(account: int) -> None:
    service.put_all(account, None, [entry(ANN), entry(ANN, "transactional"), entry("bob@x.test")])
    reply = routes.remove_recipient(request(account, {"type": "transactional"}, part=0), ANN)
    assert (reply.status, reply.body) == (204, b"")
    (remaining,) = routes.show_recipient(request(account), ANN).body["results"]
    assert remaining["type"] == "non_transactional"
    assert routes.remove_recipient(request(account, part=0), "Bob@x.test").status == 204
    missing = (404, [{"message": "Recipient could not be found"}])
    assert (
        refusal_errors(routes.remove_recipient, request(account, part=0), "bob@x.test") == missing
    )


@pytest.mark.spec("4.8-r5")
def test_a_removal_reads_its_list_id_from_the_query(account: int) -> None:
    service.put_all(account, None, [entry(ANN), entry(ANN, list_id="news")])
    routes.remove_recipient(request(account, part=0, list_id=""), ANN)
    (remaining,) = entries_of(Scope(account, 0), ANN)
    assert remaining.list_id == "news"
    bad = request(account, part=0, list_id="a b")
    assert refusal_errors(routes.remove_recipient, bad, ANN)[0] == 400


@pytest.mark.spec("4.8-r1")
def test_compliance_is_refused_in_the_words_of_the_api(account: int) -> None:
    service.impose_all(account, None, [entry(ANN, source="Compliance")])
    status, errors = refusal_errors(routes.remove_recipient, request(account, part=0), ANN)
    assert (status, errors) == (403, [{"message": "Recipient could not be removed - Compliance"}])
    update = request(account, {"type": "non_transactional"}, part=0)
    status, (error,) = refusal_errors(routes.put_entry, update, ANN)
    assert (status, error["message"]) == (403, "Recipient could not be updated - Compliance")


@pytest.mark.spec("4.8-r1")
@pytest.mark.spec("4.8-t1")
def test_a_bulk_load_refuses_entries_of_compliance_and_stores_the_others(account: int) -> None:
    banned = entry(ANN, source="Compliance", description="ours")
    service.impose_all(account, None, [banned, entry("cat@x.test", source="Compliance")])
    own = {"type": "non_transactional", "description": "mine"}
    recipients = ["Ann@x.test", "bob@x.test", "cat@x.test"]
    body = {"recipients": [{"recipient": each, **own} for each in recipients]}
    reply = routes.load(request(account, body, part=0))
    assert reply.status == 200
    message = "Recipient could not be updated - Compliance"
    text = "PUT body contains 2 recipient(s) that compliance added: ann@x.test, cat@x.test"
    assert reply.body == {
        "results": {"message": "Suppression List successfully updated"},
        "errors": [{"message": message, "description": text}],
    }
    descriptions = [
        (each["source"], each.get("description"))
        for recipient in recipients
        for each in routes.show_recipient(request(account), recipient).body["results"]
    ]
    assert descriptions == [
        ("Compliance", "ours"),
        ("Manually Added", "mine"),
        ("Compliance", None),
    ]
    assert routes.find(request(account)).body["total_count"] == 3


@pytest.mark.spec("4.8-r1")
def test_a_bulk_load_with_nothing_but_entries_of_compliance_is_refused(account: int) -> None:
    service.impose_all(account, None, [entry(ANN, source="Compliance")])
    body = {"recipients": [{"recipient": ANN, "type": "non_transactional"}] * 2}
    status, (error,) = refusal_errors(routes.load, request(account, body, part=0))
    assert (status, error["message"]) == (403, "Recipient could not be updated - Compliance")
    assert error["description"].endswith("1 recipient(s) that compliance added: ann@x.test")


@pytest.mark.spec("4.8-r6")
def test_the_scope_decides_which_list_is_read(account: int) -> None:
    for owner in (None, 7):
        service.put_all(account, owner, [entry(ANN)])
    assert routes.find(request(account)).body["total_count"] == 2
    assert routes.show_summary(request(account)).body["results"]["total"] == 2
    assert routes.show_summary(request(account, part=7)).body["results"]["total"] == 1
    routes.remove_recipient(request(account, part=0), ANN)
    assert routes.find(request(account, part=0)).body["total_count"] == 0
    (remaining,) = routes.find(request(account)).body["results"]
    assert remaining["subaccount_id"] == 7


def test_a_fault_of_the_service_is_not_turned_into_a_refusal(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(service, "put_all", fail)
    with pytest.raises(RuntimeError):
        routes.put_entry(request(account, {"type": "transactional"}, part=0), ANN)
