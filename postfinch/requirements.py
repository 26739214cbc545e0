"""Check sending domains and addresses by the rules of large mail hosts, as the service does."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from postfinch.findings import OK, PROBLEM, WARNING, Finding
from postfinch.http_api import Api, ApiError
from postfinch.json_types import Json

UNMET = "unmet"
_MET = "met"
_NOT_FOUND = 404
_VALID = "valid"
_DKIM = "dkim"


def of_domain(api: Api, domain: str) -> list[Json]:
    """Return the requirements of a sending domain."""
    requirements: list[Json] = api.get(f"/sending-domains/{quote(domain, safe='')}/requirements")[
        "requirements"
    ]
    return requirements


def check_domains(api: Api) -> Iterator[Finding]:
    """Check all sending domains of the caller: what the service knows, and what the DNS shows."""
    domains: list[Json] = api.get("/sending-domains")
    if not domains:
        remedy = "add one: postfinch domains add DOMAIN"
        yield Finding("Sending domains", WARNING, "there are none", remedy)
    for each in domains:
        requirements = _of_own_domain(api, each["domain"])
        yield _check_domain(each, next((rule for rule in requirements if rule["id"] == _DKIM), {}))
        if requirements:
            yield from _findings(
                each["domain"], [rule for rule in requirements if rule["id"] != _DKIM]
            )


def _of_own_domain(api: Api, name: str) -> list[Json]:
    """Return the requirements of a domain; none for one whose owner publishes its records."""
    try:
        return of_domain(api, name)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        return []


def _check_domain(domain: Json, dkim: Json) -> Finding:
    """Judge a domain in one finding by its stored status and by its DKIM record of now.

    The record may have gone since the domain was verified, or be there before it is.
    """
    check, status = f"Domain {domain['domain']}", domain["status"]
    compliance = status.get("compliance_status", _VALID)
    if compliance != _VALID:
        return Finding(check, PROBLEM, f"compliance: {compliance}", "ask the operator")
    text = f"DKIM is {status['dkim_status']}"
    command = f"postfinch domains check {domain['domain']} --wait"
    if dkim.get("state") == UNMET:
        text = f"{text} by the last check; now: {dkim['found']}"
        return Finding(check, PROBLEM, text, f"{remedy_text(dkim)}; then: {command}")
    if status["dkim_status"] != _VALID:
        return Finding(check, PROBLEM, text, f"publish its record, then: {command}")
    return Finding(check, OK, text)


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
