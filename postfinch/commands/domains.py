"""``postfinch domains``: sending domains, and the DNS records that they need."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import quote

import typer

from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import note, write_json, write_line, write_rows
from postfinch.http_api import Api
from postfinch.json_types import Json
from postfinch.requirements import UNMET, of_domain, remedy_text

app = typer.Typer(help="Add sending domains, and check their DNS records.", no_args_is_help=True)

DomainArgument = Annotated[str, typer.Argument(help="The domain of From addresses.")]

_VALID = "valid"
_STYLES = {"met": "green", UNMET: "red"}
_PURPOSES = {
    "dkim": "signature",
    "cname": "bounces",
    "mx": "bounces",
    "dmarc": "policy",
    "tracking": "opens and clicks",
}
# Of records that are not required. A CNAME cannot stand beside the records of a website or of mail.
_NEEDS = {
    "cname": "only for a name without other records, such as one for bounces alone",
    "mx": "only if bounces come back to this name",
}


@app.command()
def add(
    domain: DomainArgument,
    tracking_domain: Annotated[
        str | None, typer.Option(help="The tracking domain of its links, which must exist.")
    ] = None,
    key_length: Annotated[int, typer.Option(help="Bits of the DKIM key: 1024 to 4096.")] = 2048,
    shared: Annotated[
        bool, typer.Option("--shared", help="Let all subaccounts send from it.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a domain with a new DKIM key, and show the DNS records to publish."""
    api = connect(profile)
    body: Json = {"domain": domain, "dkim_key_length": key_length}
    if tracking_domain:
        body["tracking_domain"] = tracking_domain
    if shared:
        body["shared_with_subaccounts"] = True
    name: str = api.post("/sending-domains", body)["domain"]
    records = _records(api, name, tracking_domain)
    if as_json:
        write_json({"domain": name, "records": records})
        return
    _write_records(records)
    note(f"{name} is added. Publish these records, then: postfinch domains check {name} --wait")


@app.command("list")
def list_domains(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """List the sending domains and the state of their checks."""
    domains = connect(profile).get("/sending-domains")
    if as_json:
        write_json(domains)
        return
    rows = [
        {
            "domain": each["domain"],
            "ready": each["status"]["ownership_verified"],
            "dkim": each["status"]["dkim_status"],
            "cname": each["status"]["cname_status"],
            "tracking": each.get("tracking_domain"),
            "subaccount": each.get("subaccount_id"),
        }
        for each in domains
    ]
    headings = {
        "domain": "Domain",
        "ready": "Can send",
        "dkim": "DKIM",
        "cname": "Bounces",
        "tracking": "Tracking domain",
        "subaccount": "Subaccount",
    }
    write_rows(
        rows, headings, as_json=False, empty="There are none yet: postfinch domains add DOMAIN"
    )


@app.command()
def check(
    domain: DomainArgument,
    every_record: Annotated[
        bool,
        typer.Option("--all", help="Also require the records for bounces, opens and clicks."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Check again until the records are in the DNS.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.")] = 900,
    interval: Annotated[float, typer.Option(help="Seconds between two checks.", min=0.01)] = 10,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the DNS records of a domain; the exit code is 1 while a required one is missing."""
    api = connect(profile)
    deadline = time.monotonic() + timeout
    problems = ""
    while True:
        records = _checked_records(api, domain)
        missing = [each for each in records if _is_missing(each, every_record)]
        if not missing or not wait or time.monotonic() + interval > deadline:
            break
        if (now := "; ".join(map(_problem, missing))) != problems:
            note(f"waiting for {now}")
            problems = now
        time.sleep(interval)
    if as_json:
        write_json({"domain": domain, "verified": not missing, "records": records})
    else:
        for each in records:
            if each.get("status") == _VALID:
                write_line(f"{each['purpose']}: valid", style="green")
        others = [each for each in records if each.get("status") != _VALID]
        _write_records(others)
    if missing:
        typer.echo(f"{domain}: {'; '.join(map(_problem, missing))}", err=True)
        raise typer.Exit(1)


@app.command()
def requirements(
    domain: DomainArgument, profile: ProfileOption = None, as_json: JsonOption = False
) -> None:
    """Show what large mail hosts require of a domain; the exit code is 1 if something is unmet."""
    rules = of_domain(connect(profile), domain)
    if as_json:
        write_json(rules)
    else:
        for each in rules:
            _write_rule(each)
    if any(each["state"] == UNMET for each in rules):
        raise typer.Exit(1)


@app.command()
def dmarc(
    domain: DomainArgument,
    start: Annotated[
        str | None, typer.Option("--from", help="Day or minute (UTC); default: a week ago.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Day or minute (UTC).")] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which addresses send in the name of a domain, by the DMARC reports of other hosts."""
    times = {"from": start, "to": end}
    query = {name: time for name, time in times.items() if time}
    results = connect(profile).get(f"{_path(domain)}/dmarc-reports", **query)
    if as_json:
        write_json(results)
        return
    headings = {
        "source_ip": "Address",
        "header_from": "From",
        "messages": "Messages",
        "passed": "Passed",
        "dkim_passed": "DKIM",
        "spf_passed": "SPF",
        "quarantined": "Quarantined",
        "rejected": "Rejected",
    }
    empty = f"No report came for this time; publish rua=mailto: in the DMARC record of {domain}"
    write_rows(results["sources"], headings, as_json=False, empty=empty)


@app.command()
def remove(
    domain: DomainArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    profile: ProfileOption = None,
) -> None:
    """Remove a domain and its keys; nothing can be sent from it any more."""
    api = connect(profile)
    if not yes:
        typer.confirm(f"Remove {domain} and its DKIM keys?", abort=True, err=True)
    api.delete(_path(domain))
    note(f"{domain} is removed")


def _checked_records(api: Api, domain: str) -> list[Json]:
    """Verify a domain and return its records with their status, and what is wrong with each."""
    tracking_domain = api.get(_path(domain)).get("tracking_domain")
    checks = {"dkim_verify": True, "cname_verify": True}
    dns: Json = api.post(f"{_path(domain)}/verify", checks).get("dns", {})
    if tracking_domain:
        api.post(f"{_path(tracking_domain, 'tracking')}/verify", {})
    records = _records(api, domain, tracking_domain)
    for each in records:
        for name in ("record", "error"):
            if text := dns.get(f"{each['purpose']}_{name}"):
                each["published" if name == "record" else "error"] = text
    return records


def _records(api: Api, domain: str, tracking_domain: str | None) -> list[Json]:
    records: list[Json] = api.get(f"{_path(domain)}/dns-records")
    if tracking_domain:
        for each in api.get(f"{_path(tracking_domain, 'tracking')}/dns-records"):
            records.append({**each, "purpose": "tracking", "required": False})
    return records


def _is_missing(record: Json, every_record: bool) -> bool:
    """Tell whether a record must still be published; nobody checks one without a status."""
    is_required = record["required"] or (every_record and record["purpose"] != "mx")
    return is_required and record.get("status", _VALID) != _VALID


def _problem(record: Json) -> str:
    detail = f" ({record['error']})" if record.get("error") else ""
    return f"{record['type']} {record['name']} is {record['status']}{detail}"


def _write_records(records: Iterable[Json]) -> None:
    """Write records: for people each value on a line of its own, which can be copied."""
    for each in records:
        need = "required" if each["required"] else _NEEDS.get(each["purpose"], "recommended")
        purpose = _PURPOSES.get(each["purpose"], "")
        status = each.get("status", "")
        name, value = each["name"], each["value"]
        if sys.stdout.isatty():
            write_line(f"\n{each['type']} {name}", style="bold")
            write_line(f"  {value}")
            write_line("  " + ", ".join(filter(None, (purpose, need, status))), style="dim")
        else:
            typer.echo("\t".join((purpose, each["type"], name, value, need, status)))


def _write_rule(rule: Json) -> None:
    remedy = remedy_text(rule)
    if not sys.stdout.isatty():
        fields = (rule["state"], rule["title"], rule["found"], remedy)
        typer.echo("\t".join(" ".join(each.split()) for each in fields))
        return
    style = _STYLES.get(rule["state"], "yellow")
    write_line(f"{rule['state']:10} {rule['title']}", style=style)
    for text in filter(None, (rule["found"], remedy)):
        write_line(f"           {text}", style="dim")


def _path(domain: str, kind: str = "sending") -> str:
    return f"/{kind}-domains/{quote(domain, safe='')}"
