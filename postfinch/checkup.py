"""Look for what is wrong with this machine and with a service; each problem has its remedy."""

from __future__ import annotations

import os
import shutil
import smtplib
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

from postfinch import requirements
from postfinch.findings import OK, PROBLEM, SKIPPED, WARNING, Finding
from postfinch.http_api import Api, ApiError, Unreachable
from postfinch.json_types import Json
from postfinch.local_service import LocalService

OLDEST_PYTHON: Final = (3, 11)
LEAST_DISK: Final = 500_000_000
#: Seconds by which the clocks may differ
MOST_SKEW: Final = 60.0
#: The check whether a service answers at all
SERVICE: Final = "Service"
_SMTP_SECONDS = 10.0
_MOST_GRANTS = 10
_FORBIDDEN, _UNAUTHORIZED = 403, 401
_ACTIVE = "active"


def check_machine(data_dir: Path, ports: dict[str, int], *, is_running: bool) -> Iterator[Finding]:
    """Check what ``postfinch run`` needs; a running service has its ports itself."""
    yield check_python(sys.version_info[:2])
    yield check_folder(data_dir)
    yield check_disk(data_dir)
    if not is_running:
        for name, port in ports.items():
            yield check_port(name, port)


def check_python(version: tuple[int, ...]) -> Finding:
    """Check that this Python is new enough."""
    text = ".".join(map(str, version))
    if version < OLDEST_PYTHON:
        needed = ".".join(map(str, OLDEST_PYTHON))
        return Finding("Python", PROBLEM, f"this is {text}", f"install Python {needed} or newer")
    return Finding("Python", OK, text)


def check_folder(data_dir: Path) -> Finding:
    """Check that the data directory, or the folder that it will be made in, can be written."""
    folder = _existing(data_dir)
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return Finding("Data directory", OK, str(data_dir))
    remedy = "give this user the right to write there, or choose another folder with DATA_DIR"
    return Finding("Data directory", PROBLEM, f"{folder} cannot be written", remedy)


def check_disk(data_dir: Path) -> Finding:
    """Check that the disk of the data directory has room."""
    free = shutil.disk_usage(_existing(data_dir)).free
    text = f"{free / 1e9:.1f} GB free"
    if free < LEAST_DISK:
        remedy = "make room, delete the data directory for a fresh start, or set DATA_DIR"
        return Finding("Disk", PROBLEM, text, remedy)
    return Finding("Disk", OK, text)


def check_port(name: str, port: int) -> Finding:
    """Check that a service that is started now could listen on a port."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            remedy = f"end the program that has it, or set {name} to another port"
            return Finding(f"Port {port}", PROBLEM, str(error.strerror), remedy)
    return Finding(f"Port {port}", OK, "free")


def check_smtp(service: LocalService) -> Finding:
    """Check that the relay of a local service answers and offers STARTTLS."""
    name = f"SMTP port {service.smtp_port}"
    remedy = "look into the log of the relay in the folder logs of the data directory"
    context = ssl.create_default_context(cafile=service.authority or None)
    try:
        with smtplib.SMTP(service.smtp_host, service.smtp_port, timeout=_SMTP_SECONDS) as relay:
            relay.starttls(context=context)
            relay.ehlo()
    except ssl.SSLCertVerificationError as error:
        text = f"its certificate is not trusted: {error.verify_message}"
        return Finding(name, PROBLEM, text, "delete the folder tls of the data directory, restart")
    except (OSError, smtplib.SMTPException) as error:
        return Finding(name, PROBLEM, f"no STARTTLS: {error}", remedy)
    return Finding(name, OK, "answers with STARTTLS")


def check_delivery(api: Api) -> Iterator[Finding]:
    """Say by what mail leaves a local service, and have it try its smarthost if it has one."""
    try:
        way: str | None = api.get("/local/delivery")["leaves_by"]
        finding: Json | None = api.get("/local/delivery/smarthost")
    except (ApiError, Unreachable):  # of an earlier version, or gone meanwhile
        return
    if way:
        yield Finding("Delivery", WARNING, f"mail leaves this machine by {way}")
    else:
        yield Finding("Delivery", OK, "no mail leaves this machine")
    if finding:
        yield Finding(**finding)


def check_service(api: Api) -> Iterator[Finding]:
    """Check a service and the account of its key; stops where nothing more can be known."""
    began = time.time()
    try:
        date = api.date()
    except Unreachable as error:
        remedy = "check the address of the profile, the network, and that the service runs"
        yield Finding(SERVICE, PROBLEM, str(error), remedy)
        return
    yield Finding(SERVICE, OK, f"{api.url} answers")
    yield check_clock(date, (began + time.time()) / 2)
    try:
        key = api.get("/api-keys/current")
    except Unreachable as error:
        remedy = "check that the address of the profile is that of a Postfinch service"
        yield Finding("API key", PROBLEM, str(error), remedy)
        return
    except ApiError as error:
        yield Finding("API key", PROBLEM, str(error), _key_remedy(error))
        return
    yield Finding("API key", OK, f"{key['short_key']}… with {_grants_text(key['grants'])}")
    yield check_subaccount(key.get("subaccount"))
    for name, check in _ACCOUNT_CHECKS.items():
        yield from _allowed(name, check, api)


def check_clock(date: str | None, now: float) -> Finding:
    """Compare a service's ``Date`` header with the time of this machine."""
    try:
        skew = now - parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError):
        return Finding("Clock", WARNING, "the service sends no Date", "look at the proxy before it")
    text = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the service"
    if abs(skew) > MOST_SKEW:
        return Finding("Clock", PROBLEM, text, "set the clock of this machine by NTP")
    return Finding("Clock", OK, text)


def check_subaccount(subaccount: Json | None) -> Finding:
    """Check that the subaccount of a profile, or of its key, may send."""
    if subaccount is None:
        return Finding("Subaccount", OK, "none: the primary account")
    status = subaccount.get("status", _ACTIVE)
    text = f"{subaccount['id']} is {status}"
    if status != _ACTIVE:
        return Finding("Subaccount", PROBLEM, text, "set it to active, as the primary account")
    return Finding("Subaccount", OK, text)


def _check_account(api: Api) -> Iterator[Finding]:
    account: Json = api.get("/account")
    status, reason = account["status"], account.get("status_reason_category")
    text = f"{status} ({reason})" if reason else status
    if status != _ACTIVE:
        remedy = "ask the operator; `postfinch admin` shows and changes accounts"
        yield Finding("Account", PROBLEM, text, remedy)
    else:
        yield Finding("Account", OK, text)


def _check_webhooks(api: Api) -> Iterator[Finding]:
    for each in api.get("/webhooks"):
        name = f"Webhook {each['name']}"
        batches: list[Json] = api.get(f"/webhooks/{each['id']}/batch-status", limit=1)
        newest = next(iter(batches), None)
        if not each["active"]:
            yield Finding(name, WARNING, "is switched off", "switch it on, or delete it")
        elif newest and (answer := _failure(newest)):
            text = f"{each['target']}: the newest batch got {answer}"
            remedy = "repair the target: it must answer 200; the console shows what it answered"
            yield Finding(name, PROBLEM, text, remedy)
        else:
            yield Finding(name, OK, "the newest batch did not fail" if newest else "no batch yet")


def _failure(batch: Json) -> str:
    """Return how the last attempt of a batch failed; nothing if it did not, or is to come."""
    code: str | None = batch["response_code"]
    return "" if code == "200" else code or batch["failure_code"] or ""


_ACCOUNT_CHECKS: Final[dict[str, Callable[[Api], Iterator[Finding]]]] = {
    "Account": _check_account,
    "Sending domains": requirements.check_domains,
    "Rules for addresses": requirements.check_addresses,
    "Webhooks": _check_webhooks,
}


def _allowed(name: str, check: Callable[[Api], Iterator[Finding]], api: Api) -> Iterator[Finding]:
    """Yield the findings of a check; a key may lack the grant for it."""
    try:
        yield from check(api)
    except ApiError as error:
        if error.status == _FORBIDDEN:
            yield Finding(name, SKIPPED, "the key may not see this")
        else:
            yield Finding(name, PROBLEM, str(error), "look into the logs of the service")
    except Unreachable as error:
        yield Finding(name, PROBLEM, str(error), "call this command again")


def _grants_text(grants: list[str]) -> str:
    """Return the grants of a key, or their number if they are many."""
    if not grants or len(grants) > _MOST_GRANTS:
        return f"{len(grants)} grants"
    return ", ".join(grants)


def _key_remedy(error: ApiError) -> str:
    if error.status == _UNAUTHORIZED:
        return "give the profile a valid key: postfinch profiles add NAME"
    if error.status == _FORBIDDEN:
        return "call from an address that the key allows, or use another key"
    return "look into the logs of the service"


def _existing(path: Path) -> Path:
    """Return a path, or the nearest folder above it that exists."""
    path = path.absolute()
    return next(each for each in (path, *path.parents) if each.exists())
