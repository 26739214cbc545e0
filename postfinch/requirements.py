"""Check sending domains and addresses by the rules of large mail hosts, as the service does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from postfinch.findings import OK, WARNING, Finding
from postfinch.http_api import Api, ApiError

Json = dict[str, Any]

UNMET = "unmet"
_MET = "met"
_NOT_FOUND = 404


def of_domain(api: Api, domain: str) -> list[Json]:
    """Return the requirements of a sending domain."""
    requirements: list[Json] = api.get(f"/sending-domains/{quote(domain, safe='')}/requirements")[
        "requirements"
    ]
    return requirements


def check_domains(api: Api) -> Iterator[Finding]:
    """Check all sending domains that belong to the caller."""
    for each in api.get("/sending-domains"):
        name = each["domain"]
        try:
            yield from _findings(name, of_domain(api, name))
        except ApiError as error:
            # Its owner publishes the records of a domain that is shared with a subaccount
            if error.status != _NOT_FOUND:
                raise


def check_addresses(api: Api) -> Iterator[Finding]:
    """Check the addresses of all IP pools."""
    for pool in api.get("/ip-pools"):
        for each in api.get(f"/ip-pools/{quote(pool['id'], safe='')}/requirements"):
            yield from _findings(each["external_ip"], each["requirements"])


def remedy_text(requirement: Json) -> str:
    """Return what to do about a requirement, with the record to publish; empty for nothing."""
    remedy: Json = requirement.get("remedy", {})
    record: Json = remedy.get("record", {})
    parts = (remedy.get("text", ""), " ".join(record.get(k, "") for k in ("type", "name", "value")))
    return ": ".join(part for part in parts if part.strip())


def _findings(name: str, requirements: list[Json]) -> Iterator[Finding]:
    """Yield a warning for each rule that is not met, else how many are."""
    unmet = [each for each in requirements if each["state"] == UNMET]
    for each in unmet:
        yield Finding(f"{name}: {each['title']}", WARNING, each["found"], remedy_text(each))
    if not unmet:
        others = [each["id"] for each in requirements if each["state"] != _MET]
        text = f"{len(requirements) - len(others)} rules of large mail hosts are met"
        unknown = f"; not known from here: {', '.join(others)}" if others else ""
        yield Finding(f"{name}: rules", OK, text + unknown)
