"""``postfinch doctor``: what is wrong with this machine or a stage, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import typer

from postfinch import local_service, machine_checks, profiles
from postfinch.checkup import SERVICE, check_delivery, check_machine, check_service, check_smtp
from postfinch.commands.findings import show
from postfinch.commands.options import JsonOption, ProfileOption
from postfinch.commands.output import fail
from postfinch.findings import PROBLEM, WARNING, Finding
from postfinch.http_api import Api
from postfinch.local_service import LocalService, SeveralServices
from postfinch.machine_checks import ChecksFailed
from postfinch.profiles import LOCAL, NoProfile

_PORTS = {"API_PORT": 8080, "SMTP_PORT": 2525}


def doctor(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Look for what is wrong, each with its remedy; the exit code is 1 if something is.

    Without a profile this machine is checked, and the service that runs on it. On a machine for
    production, that is all that `postfinch setup` checks as well.
    """
    try:
        is_well = show(_findings(profile), as_json=as_json)
    except ChecksFailed as error:
        raise typer.Exit(error.status) from None
    if not is_well:
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
    is_local = target is None or target.name == LOCAL
    if is_local and machine_checks.are_for(service):
        yield from _of_production(folder, service)
        return
    if is_local:
        yield from check_machine(folder, _ports(), is_running=service is not None)
    if target is None:
        yield Finding(SERVICE, PROBLEM, f"none runs on {folder}", "start it: postfinch run")
        return
    yield from check_service(Api(target.url, target.key, target.subaccount))
    if service is not None and target.url == service.api_url:
        yield check_smtp(service)
        yield from check_delivery(Api(target.url, target.key))


def _of_production(folder: Path, service: LocalService | None) -> Iterator[Finding]:
    """Check production on this machine, and the first account if its key can be read here."""
    data_dir = folder if service else None
    yield from machine_checks.findings(os.environ, with_service=True, data_dir=data_dir)
    if service is None:
        return
    for finding in check_service(Api(service.api_url, service.api_key)):
        if finding.check == SERVICE and finding.status == PROBLEM:
            remedy = "try its address from another machine: this one may not reach itself by it"
            finding = finding._replace(status=WARNING, remedy=remedy)
        yield finding


def _ports() -> dict[str, int]:
    """Return the ports that ``postfinch run`` would take, by the setting of each."""
    ports: dict[str, int] = {}
    for name, number in _PORTS.items():
        text = os.environ.get(name) or str(number)
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 65_536):
            fail(f"{name}={text!r} is not a port number", 2)
        ports[name] = int(text)
    return ports
