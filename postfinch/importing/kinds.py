"""Define how each kind of thing is listed and taken; the order is that of their references."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar
from urllib.parse import quote

from postfinch import stored_templates
from postfinch.http_api import Api, ApiError
from postfinch.importing.accounts import Accounts
from postfinch.importing.model import State, Thing, page, patient
from postfinch.json_types import Json
from postfinch.stored_templates import Change
from postfinch.template_files import Item

Key = tuple[int | None, str]
_KEY_LENGTH = 2048
_BULK = 1000
_ALL_TYPES = "transactional,non_transactional,open_tracking"


class Kind(ABC):
    """One kind of thing, with its ``name`` in reports and options.

    ``say`` shows how far a thing is that takes long.
    """

    name: ClassVar[str]

    def __init__(self, accounts: Accounts, state: State, say: Callable[[str], None]) -> None:
        self.accounts = accounts
        self.state = state
        self.say = say

    @abstractmethod
    def things(self) -> Iterable[Thing]:
        """Return what the source has."""

    @abstractmethod
    def existing(self) -> set[Key]:
        """Return owner and id of what the account to take to has already."""

    @abstractmethod
    def take(self, thing: Thing) -> str:
        """Take a thing; return what of it could not be taken. Raises ApiError."""

    def note(self, thing: Thing) -> str:
        """Return what is known not to be taken before anything is."""
        return ""


class _Subaccounts(Kind):
    """Subaccounts, without their keys."""

    name = "subaccounts"

    def things(self) -> Iterator[Thing]:
        for each in patient(lambda: self.accounts.source.get("/subaccounts")):
            yield Thing(each["name"], None, each)

    def existing(self) -> set[Key]:
        return {(None, each["name"]) for each in self.accounts.target.get("/subaccounts")}

    def take(self, thing: Thing) -> str:
        view, target = thing.view, self.accounts.target
        options = {name: v for name, v in view.get("options", {}).items() if isinstance(v, bool)}
        body: Json = {"name": view["name"], "setup_api_key": False}
        notes = [_NO_KEYS]
        number = _first_accepted(
            lambda fields: target.post("/subaccounts", body | fields)["subaccount_id"],
            {"options": options, **({"ip_pool": view["ip_pool"]} if view.get("ip_pool") else {})},
            notes,
        )
        self.accounts.pair(view["id"], number)
        if view.get("status", "active") != "active":
            target.put(f"/subaccounts/{number}", {"status": view["status"]})
        return "; ".join(notes)

    def note(self, thing: Thing) -> str:
        return _NO_KEYS


class _TrackingDomains(Kind):
    """Tracking domains, which must be verified again."""

    name = "tracking-domains"

    def things(self) -> Iterator[Thing]:
        return _owned(patient(lambda: self.accounts.source.get("/tracking-domains")), "domain")

    def existing(self) -> set[Key]:
        return _keys(self.accounts.target.get("/tracking-domains"), "domain")

    def take(self, thing: Thing) -> str:
        target = self.accounts.target_of(thing.subaccount)
        target.post("/tracking-domains", {"domain": thing.id})
        return self.note(thing)

    def note(self, thing: Thing) -> str:
        settings = [name for name in ("secure", "default") if thing.view.get(name)]
        also = f", and set {' and '.join(settings)}" if settings else ""
        return f"point its CNAME to the new service and verify it{also}"


class _SendingDomains(Kind):
    """Sending domains, with their DKIM keys where the source shows the private half."""

    name = "sending-domains"

    def things(self) -> Iterator[Thing]:
        return _owned(patient(lambda: self.accounts.source.get("/sending-domains")), "domain")

    def existing(self) -> set[Key]:
        return _keys(self.accounts.target.get("/sending-domains"), "domain")

    def take(self, thing: Thing) -> str:
        target = self.accounts.target_of(thing.subaccount)
        notes: list[str] = []
        extras = {
            name: thing.view[name]
            for name in ("tracking_domain", "shared_with_subaccounts")
            if thing.view.get(name)
        }
        _first_accepted(
            lambda fields: target.post("/sending-domains", self._body(thing) | fields),
            extras,
            notes,
        )
        path = f"/sending-domains/{quote(thing.id, safe='')}/verify"
        if self._has_private_key(thing):
            status = target.post(path, {"dkim_verify": True})
            if status["dkim_status"] != "valid":
                notes.append(f"its DKIM record is {status['dkim_status']}")
        return "; ".join(filter(None, (self.note(thing), *notes)))

    def note(self, thing: Thing) -> str:
        notes = []
        if not self._has_private_key(thing):
            notes.append(
                "the source does not show its private DKIM key: publish the record of the new key, "
                f"see `postfinch domains check {thing.id}`"
            )
        if thing.view.get("is_default_bounce_domain"):
            notes.append("make it the default bounce domain again once its CNAME is verified")
        return "; ".join(notes)

    def _body(self, thing: Thing) -> Json:
        key: Json = thing.view.get("dkim") or {}
        if self._has_private_key(thing):
            names = ("private", "public", "selector", "signing_domain", "headers")
            dkim = {name: key[name] for name in names if key.get(name)}
            return {"domain": thing.id, "dkim": dkim}
        dkim = {name: key[name] for name in ("signing_domain", "headers") if key.get(name)}
        if selector := key.get("selector"):  # the record of the former key stays in use
            dkim["selector"] = f"{selector}-2"
        return {"domain": thing.id, "dkim": dkim, "dkim_key_length": _KEY_LENGTH}

    def _has_private_key(self, thing: Thing) -> bool:
        return bool((thing.view.get("dkim") or {}).get("private"))


class _InboundDomains(Kind):
    """Inbound domains with their routes, where the source has routes."""

    name = "inbound-domains"

    def things(self) -> Iterator[Thing]:
        return _owned(patient(lambda: self.accounts.source.get("/inbound-domains")), "domain")

    def existing(self) -> set[Key]:
        return _keys(self.accounts.target.get("/inbound-domains"), "domain")

    def take(self, thing: Thing) -> str:
        source = self.accounts.source_of(thing.subaccount)
        target = self.accounts.target_of(thing.subaccount)
        target.post("/inbound-domains", {"domain": thing.id})
        path = f"/inbound-domains/{quote(thing.id, safe='')}/routes"
        if routes := patient(lambda: _routes_at(source, path)):
            target.put(path, {"routes": routes})
        return self.note(thing)

    def note(self, thing: Thing) -> str:
        return "point its MX record to the new service"


class _RelayWebhooks(Kind):
    """Relay webhooks, after their inbound domains."""

    name = "relay-webhooks"
    _FIELDS = (
        "name",
        "target",
        "match",
        "custom_headers",
        "auth_type",
        "auth_request_details",
        "auth_token",
    )

    def things(self) -> Iterator[Thing]:
        return self._of(self.accounts.source)

    def existing(self) -> set[Key]:
        return {(each.subaccount, each.id) for each in self._of(self.accounts.target)}

    def take(self, thing: Thing) -> str:
        view = thing.view
        body = {name: view[name] for name in self._FIELDS if view.get(name) not in (None, {}, "")}
        self.accounts.target_of(thing.subaccount).post("/relay-webhooks", body)
        return self.note(thing)

    def note(self, thing: Thing) -> str:
        return _NO_SIGNING_SECRET if thing.view.get("signed") else ""

    def _of(self, api: Api) -> Iterator[Thing]:
        """Yield those of an account by their domains; a domain has one, of the same owner."""
        webhooks = patient(lambda: api.get("/relay-webhooks"))
        if not webhooks:
            return
        domains = patient(lambda: api.get("/inbound-domains"))
        owners = {each["domain"]: each.get("subaccount_id") or None for each in domains}
        for each in webhooks:
            domain = (each.get("match") or {}).get("domain", "")
            yield Thing(domain, each.get("subaccount_id") or owners.get(domain), each)


def _routes_at(source: Api, path: str) -> list[Json]:
    """Return the routes of an inbound domain; other services of this API have none."""
    try:
        routes: list[Json] = source.get(path)
    except ApiError as error:
        if error.status in (404, 405):
            return []
        raise
    return routes


class _Snippets(Kind):
    """Snippets."""

    name = "snippets"

    def things(self) -> Iterator[Thing]:
        return _owned(patient(lambda: self.accounts.source.get("/api/labs/snippets")), "id")

    def existing(self) -> set[Key]:
        return _keys(self.accounts.target.get("/api/labs/snippets"), "id")

    def take(self, thing: Thing) -> str:
        source = self.accounts.source_of(thing.subaccount)
        item = patient(lambda: stored_templates.fetch(source, "snippet", thing.id))
        target = self.accounts.target_of(thing.subaccount)
        stored_templates.apply(target, Change("create", item))
        return ""


class _Templates(Kind):
    """Templates: the published version and then the draft, if it differs."""

    name = "templates"

    def things(self) -> Iterator[Thing]:
        return _owned(patient(lambda: self.accounts.source.get("/templates")), "id")

    def existing(self) -> set[Key]:
        return _keys(self.accounts.target.get("/templates"), "id")

    def take(self, thing: Thing) -> str:
        source = self.accounts.source_of(thing.subaccount)
        target = self.accounts.target_of(thing.subaccount)
        versions = [False, True] if thing.view.get("has_published") else [True]
        if not thing.view.get("has_draft", True):
            versions = [False]
        items = [self._fetch(source, thing.id, draft) for draft in versions]
        first, last = items[0], items[-1]
        stored_templates.apply(target, Change("create", first, [], versions[0] is False))
        if changes := last.changes_from(first):
            stored_templates.apply(target, Change("update", last, changes))
        return ""

    def _fetch(self, source: Api, template_id: str, draft: bool) -> Item:
        return patient(lambda: stored_templates.fetch(source, "template", template_id, draft=draft))


class _RecipientLists(Kind):
    """Stored recipient lists."""

    name = "recipient-lists"

    def things(self) -> Iterator[Thing]:
        return _owned(patient(lambda: self.accounts.source.get("/recipient-lists")), "id")

    def existing(self) -> set[Key]:
        return _keys(self.accounts.target.get("/recipient-lists"), "id")

    def take(self, thing: Thing) -> str:
        path = f"/recipient-lists/{quote(thing.id, safe='')}"
        view = patient(lambda: self.accounts.source.get(path, show_recipients="true"))
        names = ("id", "name", "description", "attributes", "recipients")
        body = {name: view[name] for name in names if view.get(name)}
        reply = patient(lambda: self.accounts.target.post("/recipient-lists", body))
        rejected = reply.get("total_rejected_recipients")
        return f"{rejected} recipients were not accepted" if rejected else ""


class _Suppressions(Kind):
    """The suppression lists of the primary account and of the subaccounts."""

    name = "suppressions"

    def things(self) -> Iterator[Thing]:
        yield Thing("primary")
        for each in patient(lambda: self.accounts.source.get("/subaccounts")):
            yield Thing(each["name"], each["id"])

    def existing(self) -> set[Key]:
        return set()

    def take(self, thing: Thing) -> str:
        source = self.accounts.source_of(thing.subaccount)
        target = self.accounts.target_of(thing.subaccount)
        # A list may be long: an import that is stopped goes on at the page where it was
        key = f"{self.name}:{thing.subaccount or 0}"
        first = {"types": _ALL_TYPES, "cursor": "initial", "per_page": _BULK}
        place = self.state.places.get(key) or {"query": first, "count": 0, "refusals": []}
        query, count, refusals = place["query"], place["count"], place["refusals"]
        while query:
            try:
                entries, query = page(source, "/suppression-list", query)
            except ApiError as error:
                if error.status != 400 or query == first:
                    raise
                query = first  # the place is too old for the source
                continue
            count += put_suppressions(target, list(map(suppression, entries)), refusals)
            place = {"query": query, "count": count, "refusals": refusals}
            self.state.places[key] = place
            self.state.save()
            self.say(f"{self.name} of {thing.id}: {count} entries")
        del self.state.places[key]
        if refusals:
            names = ", ".join(refusals[:20])
            return f"{len(refusals)} of {count + len(refusals)} entries were refused: {names}"
        return ""


class _Webhooks(Kind):
    """Webhooks; the service makes a test POST to each target."""

    name = "webhooks"
    _FIELDS = (
        "name",
        "target",
        "events",
        "active",
        "custom_headers",
        "auth_type",
        "auth_request_details",
        "auth_token",
    )

    def things(self) -> Iterator[Thing]:
        for each in patient(lambda: self.accounts.source.get("/webhooks")):
            owner = each.get("subaccount_id") or 0
            yield Thing(each["name"], owner if owner > 0 else None, each)

    def existing(self) -> set[Key]:
        webhooks = self.accounts.target.get("/webhooks")
        return {(self._owner(each), each["name"]) for each in webhooks}

    def take(self, thing: Thing) -> str:
        view = thing.view
        body = {name: view[name] for name in self._FIELDS if view.get(name) not in (None, {}, "")}
        if view.get("auth_type") == "basic":
            body["auth_credentials"] = view.get("auth_credentials", {})
        everybody = view.get("subaccount_id", -1) in (-1, None)
        notes = [self.note(thing)]
        if everybody and (numbers := view.get("exception_subaccounts")):
            present = [number for number in numbers if self.accounts.has(number)]
            body["exception_subaccounts"] = [self.accounts.number(number) for number in present]
            if len(present) < len(numbers):
                notes.append("some of its exceptions are subaccounts that were not taken")
        target = self.accounts.target if everybody else self.accounts.target_of(thing.subaccount)
        target.post("/webhooks", body)
        return "; ".join(filter(None, notes))

    def note(self, thing: Thing) -> str:
        return _NO_SIGNING_SECRET if thing.view.get("signed") else ""

    def _owner(self, view: Json) -> int | None:
        number = view.get("subaccount_id") or 0
        return number if number > 0 else None


KINDS: dict[str, type[Kind]] = {
    each.name: each
    for each in (
        _Subaccounts,
        _TrackingDomains,
        _SendingDomains,
        _InboundDomains,
        _RelayWebhooks,
        _Snippets,
        _Templates,
        _RecipientLists,
        _Suppressions,
        _Webhooks,
    )
}
_NO_SIGNING_SECRET = "the source does not show its signing secret: draw a new one"
_NO_KEYS = "an API never shows keys: make new ones"


def suppression(entry: Json) -> Json:
    """Return an entry as a bulk load has it; its source becomes the description."""
    names = ("recipient", "type", "list_id")
    fields = {name: entry[name] for name in names if entry.get(name)}
    description = entry.get("description") or entry.get("source")
    return fields | ({"description": description} if description else {})


def put_suppressions(target: Api, entries: list[Json], refusals: list[str]) -> int:
    """Store entries and return how many; add the recipients that are refused to ``refusals``."""
    if not entries:
        return 0
    try:
        patient(lambda: target.put("/suppression-list", {"recipients": entries}))
        return len(entries)
    except ApiError as error:
        if error.status not in (400, 413, 422):
            raise
        if len(entries) == 1:
            refusals.append(str(entries[0].get("recipient")))
            return 0
    half = len(entries) // 2
    return sum(
        put_suppressions(target, each, refusals) for each in (entries[:half], entries[half:])
    )


def _first_accepted(post: Callable[[Json], Any], extras: Json, notes: list[str]) -> Any:
    """Return the result of a creation with ``extras``, or without those that are refused."""
    try:
        return patient(lambda: post(extras))
    except ApiError as error:
        if error.status not in (400, 422) or not extras:
            raise
        result = patient(lambda: post({}))
        notes.append(f"without {', '.join(extras)}: {error}")
        return result


def _owned(views: Iterable[Json], id_name: str) -> Iterator[Thing]:
    for each in views:
        yield Thing(each[id_name], each.get("subaccount_id") or None, each)


def _keys(views: Iterable[Json], id_name: str) -> set[Key]:
    return {(each.get("subaccount_id") or None, each[id_name]) for each in views}
