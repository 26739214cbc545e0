"""An account of the same API is taken into another one."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from chalicelib.dkim.key_pair import generate_key
from postfinch.http_api import Api, ApiError
from postfinch.importing import kinds
from tests.http_target import serving
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key
from tests.unit.postfinch.api_server import run
from tests.unit.zones import Zone, served_zone

CONTENT = {"from": "me@example.test", "subject": "Hello", "text": "Hello {{name}}"}
STATE = Path("postfinch-import.json")


@pytest.fixture
def source(account: Client) -> Client:
    """Another account of the same service, to take from."""
    make_account(2)
    return make_key(2)


@dataclass
class FakeSource:
    """A service whose answer to each path is set; other paths have no results."""

    url: str = ""
    results: dict[str, Any] = field(default_factory=dict)
    busy: int = 0


@pytest.fixture
def fake_source(account: Client) -> Iterator[FakeSource]:
    fake = FakeSource()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            status = 200
            if fake.busy:
                fake.busy -= 1
                status = 429
            elif fake.results.get(path, []) is None:
                status = 403
            data = json.dumps({"results": fake.results.get(path, [])}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Write no log lines."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    yield fake
    server.shutdown()
    thread.join()
    server.server_close()


def take(source: Client | FakeSource, *arguments: object, code: int = 0) -> str:
    url = source.url if isinstance(source, FakeSource) else os.environ["POSTFINCH_URL"]
    key = "key" if isinstance(source, FakeSource) else source.key
    return run("import", "--from-url", url, "--from-key", key, *arguments, code=code)


def results_of(output: str) -> dict[str, dict[str, Any]]:
    """Return the results of ``--json`` by kind and id."""
    document = json.loads(output[output.index('{"counts"') :])
    return {f"{each['kind']} {each['id']}": each for each in document["results"]}


def fill(source: Client) -> int:
    """Give an account something of many kinds; return the number of its subaccount."""
    body = {"name": "Shop", "setup_api_key": False, "options": {"deliverability": True}}
    number = source.post("/api/v1/subaccounts", body).results["subaccount_id"]
    shop = source.on_behalf_of(number)
    draft = {"id": "draft", "content": CONTENT, "options": {"click_tracking": True}}
    live = {"id": "live", "content": CONTENT, "published": True, "description": "All"}
    for client, template in ((source, draft), (source, live), (shop, draft)):
        assert client.post("/api/v1/templates", template).status == 200
    source.put("/api/v1/templates/live", {"content": {**CONTENT, "subject": "Next"}})
    source.post("/api/labs/snippets", {"id": "foot", "name": "Foot", "content": {"html": "x"}})
    recipients = [{"address": {"email": "ann@inbox.test"}, "tags": ["a"]}]
    source.post("/api/v1/recipient-lists", {"id": "all", "name": "All", "recipients": recipients})
    for client, name in ((source, "p"), (shop, "s")):
        entries = [
            {"recipient": f"{name}{n}@inbox.test", "type": "non_transactional"} for n in range(3)
        ]
        entries[0] |= {"list_id": "news", "description": "asked us"}
        entries[1]["type"] = "open_tracking"
        assert client.put("/api/v1/suppression-list", {"recipients": entries}).status == 200
    return number


def test_things_of_an_account_and_its_subaccounts_are_taken(
    source: Client, account: Client
) -> None:
    fill(source)
    with serving() as target:
        webhook = {"name": "Ours", "target": target.url, "events": ["open"]}
        details = {"custom_headers": {"X-A": "b"}, "auth_type": "basic"}
        login = {"auth_credentials": {"username": "u", "password": "p"}}
        source.post("/api/v1/webhooks", {**webhook, **details, **login})
        output = take(source)
    assert "subaccounts Shop: an API never shows keys: make new ones" in output
    assert not STATE.exists()

    (subaccount,) = account.get("/api/v1/subaccounts").results
    assert (subaccount["name"], subaccount["options"]["deliverability"]) == ("Shop", True)
    shop = account.on_behalf_of(subaccount["id"])
    draft = shop.get("/api/v1/templates/draft").results
    assert (draft["content"], draft["options"]) == (CONTENT, {"click_tracking": True})
    live = [account.get(f"/api/v1/templates/live?draft={d}").results for d in ("false", "true")]
    assert [each["content"]["subject"] for each in live] == ["Hello", "Next"]
    assert live[0]["description"] == "All"
    assert account.get("/api/labs/snippets/foot").results["name"] == "Foot"
    path = "/api/v1/recipient-lists/all?show_recipients=true"
    assert account.get(path).results["recipients"] == source.get(path).results["recipients"]
    query = "?types=non_transactional,open_tracking&sort=asc"
    for client, name in ((account.on_behalf_of(0), "p"), (shop, "s")):
        entries = client.get(f"/api/v1/suppression-list{query}").results
        assert sorted((e["recipient"][:2], e["type"], e.get("list_id")) for e in entries) == [
            (f"{name}0", "non_transactional", "news"),
            (f"{name}1", "open_tracking", None),
            (f"{name}2", "non_transactional", None),
        ]
        texts = {e["recipient"][1]: e["description"] for e in entries}
        assert texts == {"0": "asked us", "1": "Manually Added", "2": "Manually Added"}
    (webhook,) = account.get("/api/v1/webhooks").results
    assert webhook["auth_credentials"] == {"username": "u", "password": "p"}
    assert webhook["custom_headers"] == {"X-A": "b"}


def test_a_second_import_changes_nothing(source: Client, account: Client) -> None:
    fill(source)
    take(source)
    account.put("/api/v1/templates/draft", {"content": {**CONTENT, "subject": "Ours"}})
    results = results_of(take(source, "--json"))
    outcomes = {each["outcome"] for name, each in results.items() if "suppressions" not in name}
    assert outcomes == {"exists"}
    subject = account.get("/api/v1/templates/draft").results["content"]["subject"]
    assert subject == "Ours"
    assert len(account.get("/api/v1/subaccounts").results) == 1


def test_a_dry_run_changes_nothing_and_names_the_same(source: Client, account: Client) -> None:
    fill(source)
    planned = results_of(take(source, "--dry-run", "--json"))
    assert {each["outcome"] for each in planned.values()} == {"would"}
    assert account.get("/api/v1/templates").results == []
    assert account.get("/api/v1/subaccounts").results == []
    assert not STATE.exists()
    assert results_of(take(source, "--json")).keys() == planned.keys()


def test_only_the_chosen_kinds_are_taken(source: Client, account: Client) -> None:
    fill(source)
    take(source, "--only", "snippets,recipient-lists")
    assert account.get("/api/v1/templates").results == []
    assert account.get("/api/labs/snippets").results != []
    assert "none of" in take(source, "--only", "domains", code=2)


def test_what_fails_is_named_and_tried_again_next_time(source: Client, account: Client) -> None:
    fill(source)
    output = take(source, "--only", "templates", code=1)
    assert "templates draft of subaccount " in output
    assert "its subaccount was not taken" in output
    assert "templates:0:live" in json.loads(STATE.read_text())["done"]
    account.delete("/api/v1/templates/live")  # what is done is not done again
    take(source)
    assert account.get("/api/v1/templates/live").status == 404
    assert not STATE.exists()


def test_a_list_that_was_taken_in_part_goes_on_where_it_was(
    source: Client, account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [{"recipient": f"r{n}@inbox.test", "type": "transactional"} for n in range(25)]
    source.put("/api/v1/suppression-list", {"recipients": entries})
    put = kinds.put_suppressions
    sizes: list[int] = []

    def put_twice(target: Api, bulk: list[Any], refusals: list[str]) -> int:
        sizes.append(len(bulk))
        if len(sizes) == 3:
            raise ApiError(500, [{"message": "it is broken"}])
        return put(target, bulk, refusals)

    monkeypatch.setattr(kinds, "_BULK", 10)
    monkeypatch.setattr(kinds, "put_suppressions", put_twice)
    assert "it is broken" in take(source, code=1)
    take(source)
    assert sizes == [10, 10, 5, 5]
    assert account.get("/api/v1/suppression-list/summary").results["total"] == 25


def test_a_place_that_the_source_does_not_know_any_more_is_forgotten(
    source: Client, account: Client
) -> None:
    fill(source)
    url = os.environ["POSTFINCH_URL"]
    place = {"query": {"cursor": "old"}, "count": 1, "refusals": []}
    state = {"source": url, "target": url, "done": [], "subaccounts": {}}
    STATE.write_text(json.dumps(state | {"places": {"suppressions:0": place}}))
    take(source)
    assert account.on_behalf_of(0).get("/api/v1/suppression-list/summary").results["total"] > 1


def test_the_state_of_another_import_is_not_used(source: Client) -> None:
    STATE.write_text(json.dumps({"source": "x", "target": "y"}))
    assert "is of another import" in take(source, code=2)


def test_domains_are_taken_with_the_key_that_the_source_shows(
    fake_source: FakeSource, account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = generate_key(1024)
    key = {"private": pair.private_pem, "public": pair.public_b64, "selector": "s1"}
    status = {"ownership_verified": True}
    fake_source.results = {
        "/api/v1/inbound-domains": [{"domain": "in.example.test"}],
        "/api/v1/inbound-domains/in.example.test/routes": [{"pattern": "x*", "action": "drop"}],
        "/api/v1/tracking-domains": [{"domain": "t.example.test", "secure": True}],
        "/api/v1/sending-domains": [
            {"domain": "a.test", "dkim": key, "tracking_domain": "t.example.test"},
            {"domain": "b.test", "dkim": {"public": "x", "selector": "s1"}, "status": status},
            {"domain": "c.test", "tracking_domain": "unknown.test"},
        ],
    }
    fake_source.busy = 1
    zones: Iterator[Zone] = served_zone(monkeypatch)
    next(zones).set(
        "s1._domainkey.a.test", ("TXT", f"v=DKIM1; k=rsa; h=sha256; p={pair.public_b64}")
    )
    results = results_of(take(fake_source, "--json"))
    domains = {each["domain"]: each for each in account.get("/api/v1/sending-domains").results}
    assert domains["a.test"]["dkim"]["public"] == pair.public_b64
    assert domains["a.test"]["status"]["ownership_verified"] is True
    assert domains["a.test"]["tracking_domain"] == "t.example.test"
    assert results["sending-domains a.test"]["outcome"] == "taken"
    assert domains["b.test"]["dkim"]["selector"] == "s1-2"
    assert "private DKIM key" in results["sending-domains b.test"]["reason"]
    assert "without tracking_domain" in results["sending-domains c.test"]["reason"]
    assert "MX record" in results["inbound-domains in.example.test"]["reason"]
    path = "/api/v1/inbound-domains/in.example.test/routes"
    assert account.get(path).results == [{"pattern": "x*", "action": "drop"}]
    assert "set secure" in results["tracking-domains t.example.test"]["reason"]


def test_relay_webhooks_are_taken_after_their_domains(
    fake_source: FakeSource, account: Client
) -> None:
    body = {"name": "Shop", "setup_api_key": False}
    number = account.post("/api/v1/subaccounts", body).results["subaccount_id"]
    shop = account.on_behalf_of(number)
    own, of_shop = (
        {
            "id": webhook,
            "name": f"Replies {webhook}",
            "target": "https://hooks.example.com/mail",
            "match": {"protocol": "SMTP", "domain": domain},
            "auth_type": "none",
            "auth_request_details": None,
            "auth_token": "t",
            "custom_headers": {"X-A": "b"},
        }
        for webhook, domain in (("1", "in.example.test"), ("2", "shop.example.test"))
    )
    fake_source.results = {
        "/api/v1/subaccounts": [{"id": 7, "name": "Shop"}],
        "/api/v1/inbound-domains": [
            {"domain": "in.example.test"},
            {"domain": "shop.example.test", "subaccount_id": 7},
        ],
        "/api/v1/relay-webhooks": [own, of_shop | {"signed": True}],
    }
    results = results_of(take(fake_source, "--json"))
    (view,) = account.on_behalf_of(0).get("/api/v1/relay-webhooks").results
    names = ("name", "target", "match", "auth_type", "auth_token", "custom_headers")
    assert {name: view[name] for name in names} == {name: own[name] for name in names}
    (view,) = shop.get("/api/v1/relay-webhooks").results
    assert (view["name"], view["subaccount_id"]) == ("Replies 2", number)
    assert results["relay-webhooks in.example.test"]["outcome"] == "taken"
    assert "signing secret" in results["relay-webhooks shop.example.test"]["reason"]
    again = results_of(take(fake_source, "--json"))
    assert again["relay-webhooks shop.example.test"]["outcome"] == "exists"


def test_refused_suppressions_are_named_and_the_others_taken(
    fake_source: FakeSource, account: Client
) -> None:
    entries = [{"recipient": f"r{n}@inbox.test", "type": "transactional"} for n in range(20)]
    entries[7]["recipient"] = "nobody"
    fake_source.results = {"/api/v1/suppression-list": entries}
    results = results_of(take(fake_source, "--json"))
    reason = results["suppressions primary"]["reason"]
    assert reason == "1 of 20 entries were refused: nobody"
    assert account.get("/api/v1/suppression-list/summary").results["total"] == 19


def test_a_kind_that_the_source_does_not_show_is_one_failure(fake_source: FakeSource) -> None:
    fake_source.results = {"/api/v1/webhooks": None, "/api/v1/subaccounts": None}
    output = take(fake_source, code=1)
    assert "webhooks all: not taken: cannot be listed" in output
    assert "subaccounts all: not taken: cannot be listed" in output


def test_a_key_that_is_not_valid_is_one_of_the_account_that_is_named(account: Client) -> None:
    url = os.environ["POSTFINCH_URL"]
    with pytest.raises(ApiError, match=f"{url} does not show its subaccounts: Unauthorized"):
        run("import", "--from-url", url, "--from-key", "bad")


def test_without_a_source_the_command_line_is_not_understood(account: Client) -> None:
    assert "--from-url" in run("import", code=2)
