"""``postfinch doctor``: what is wrong with this machine or a stage, and what to do about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import typer

from postfinch import local_service, profiles
from postfinch.checkup import check_delivery, check_machine, check_service, check_smtp
from postfinch.commands.options import JsonOption, ProfileOption
from postfinch.commands.output import fail, write_json, write_line
from postfinch.findings import OK, PROBLEM, WARNING, Finding
from postfinch.http_api import Api
from postfinch.local_service import SeveralServices
from postfinch.profiles import LOCAL, NoProfile

_PORTS = {"API_PORT": 8080, "SMTP_PORT": 2525}
_STYLES = {OK: "green", WARNING: "yellow", PROBLEM: "red"}


def doctor(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Look for what is wrong, each with its remedy; the exit code is 1 if something is.

    Without a profile this machine is checked, and the service that runs on it.
    """
    findings: list[Finding] = []
    for finding in _findings(profile):
        findings.append(finding)
        if not as_json:
            _write(finding)
    if as_json:
        write_json([finding._asdict() for finding in findings])
    if any(finding.status == PROBLEM for finding in findings):
        raise typer.Exit(1)


def _findings(profile: str | None) -> Iterator[Finding]:
    try:
        folder = local_service.running_folder()
    except SeveralServices as error:
        fail(str(error), 2)
    service = local_service.find(folder)
    try:
        target = profiles.choose(profile)
    except NoProfile as error:
        if (profile or LOCAL) != LOCAL:
            fail(str(error), 2)
        target = None
    if target is None or target.name == LOCAL:
        yield from check_machine(folder, _ports(), is_running=service is not None)
    if target is None:
        yield Finding("Service", PROBLEM, f"none runs on {folder}", "start it: postfinch run")
        return
    yield from check_service(Api(target.url, target.key, target.subaccount))
    if service is not None and target.url == service.api_url:
        yield check_smtp(service)
        yield from check_delivery(Api(target.url, target.key))


def _ports() -> dict[str, int]:
    """Return the ports that ``postfinch run`` would take, by the setting of each."""
    ports: dict[str, int] = {}
    for name, number in _PORTS.items():
        text = os.environ.get(name) or str(number)
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 65_536):
            fail(f"{name}={text!r} is not a port number", 2)
        ports[name] = int(text)
    return ports


def _write(finding: Finding) -> None:
    texts = (finding.status, finding.check, finding.detail)
    fields = [" ".join(each.split()) for each in texts]
    if not sys.stdout.isatty():
        write_line("\t".join([*fields, finding.remedy]))
        return
    style = _STYLES.get(finding.status, "dim")
    write_line(f"{finding.status:8} {finding.check}: {finding.detail}", style=style)
    if finding.remedy:
        write_line(f"         {finding.remedy}")
