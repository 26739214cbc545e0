"""Ask the running service how it is.

Its health and readiness, certificates, backups, open alarms and dead letters are checked.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

from chalicelib.core import clock
from infrastructure.local import figures
from infrastructure.local.figures import DEAD
from infrastructure.machine import alarms
from infrastructure.machine.backup.status import backup_status
from infrastructure.machine.certificates.status import (
    CertificateStatus,
    certificate_status,
    file_status,
)
from infrastructure.machine.checks.finding import OK, PROBLEM, SKIPPED, WARNING, Finding
from infrastructure.machine.checks.installation import Installation
from infrastructure.machine.configuration import own_files
from infrastructure.machine.edge import health
from infrastructure.machine.settings import ACME

_SECONDS = 10.0
_HTTP_OK, _HTTP_UNAVAILABLE = 200, 503
_REMEDIES = {
    "/health": "mail is not accepted: look at the log (journalctl -u postfinch)",
    "/ready": "accepted mail waits: look at the log (journalctl -u postfinch)",
}


def check_health(installation: Installation) -> Iterator[Finding]:
    """Ask whether mail is accepted, and whether it is delivered."""
    port = installation.machine.http_port
    if not port:
        yield Finding("Service", SKIPPED, "HTTP_PORT is 0: its health cannot be asked from here")
        return
    for path, remedy in _REMEDIES.items():
        try:
            status, body = _get(installation.host, port, path)
        except (OSError, http.client.HTTPException) as error:
            start = "start it: sudo systemctl start postfinch (or postfinch serve)"
            yield Finding("Service", PROBLEM, f"port {port} does not answer: {error}", start)
            return
        yield _judge(f"GET {path}", status, body, remedy)


def check_certificates(installation: Installation) -> Iterator[Finding]:
    """Check each certificate: until when it is valid, and whether it renews."""
    machine, now = installation.machine, clock.now()
    wants_acme = machine.tls == ACME
    statuses = certificate_status(installation.data_dir, now, wants_acme=wants_acme)
    if files := own_files(machine):
        statuses[0] = file_status(files, now)
    for status in statuses:
        yield _judge_certificate(status, now, wants_acme=wants_acme)


def check_backups(installation: Installation) -> Iterator[Finding]:
    """Check that the scheduled backups are made."""
    machine = installation.machine
    if not machine.backup_dir:
        remedy = "postfinch setup --backup-dir FOLDER, or back up by other means (docs/backups.md)"
        yield Finding("Backups", WARNING, "none are scheduled", remedy)
        return
    status = backup_status(installation.data_dir)
    last = f"the last one is of {_date(status.success)}" if status.success else "there is none yet"
    if status.is_failing:
        remedy = f"see that the service may write to {machine.backup_dir}, and that it has room"
        yield Finding("Backups", PROBLEM, f"{status.text}; {last}", remedy)
    else:
        yield Finding("Backups", OK if status.success else WARNING, last)


def check_alarms(installation: Installation) -> Iterator[Finding]:
    """Show the open alarms of which the administrator was told."""
    open_alarms = alarms.read(installation.data_dir / alarms.FILE)
    for name, alarm in open_alarms.items():
        since = f"since {_date(alarm.since)}"
        yield Finding(f"Alarm {name}", PROBLEM, f"{alarm.text} ({since})", "it ends by itself then")
    if not open_alarms:
        yield Finding("Alarms", OK, "none is open")


def check_dead_letters() -> Iterator[Finding]:
    """Show queues whose messages failed too often; the stored queues must be in reach."""
    counts = {
        name.removesuffix(DEAD): count
        for name, count in figures.counts_of_queues().items()
        if name.endswith(DEAD) and count
    }
    for queue, count in counts.items():
        remedy = f"repair the cause, then: postfinch admin --local redrive-dead-letters {queue}"
        yield Finding(f"Dead letters of {queue}", PROBLEM, f"{count} messages", remedy)
    if not counts:
        yield Finding("Dead letters", OK, "none")


def _judge(check: str, status: int, body: bytes, remedy: str) -> Finding:
    if status == _HTTP_OK:
        return Finding(check, OK, health.OK)
    if status != _HTTP_UNAVAILABLE:
        text = f"another program answers {status} at this port"
        return Finding(check, PROBLEM, text, "end it, or set HTTP_PORT to another port")
    parts: dict[str, str] = json.loads(body)["parts"]
    failing = [name for name, state in parts.items() if state != health.OK]
    return Finding(check, PROBLEM, f"failing: {', '.join(failing)}", remedy)


def _judge_certificate(status: CertificateStatus, now: float, *, wants_acme: bool) -> Finding:
    check = f"Certificate of {', '.join(status.names) or 'the service'}"
    failure = f"; the last order failed: {status.failure}" if status.failure else ""
    attempt = status.next_attempt_at
    remedy = f"the next order is at {_date(attempt)}" if attempt else "look at the log"
    if status.not_after is None:
        text = f"there is none at {status.path}{failure}"
        remedy = remedy if attempt else "the start of the service makes one"
        return Finding(check, PROBLEM, text, remedy)
    text = f"valid until {_date(status.not_after)}{failure}"
    if status.does_not_renew or status.not_after <= now:
        return Finding(check, PROBLEM, text, remedy)
    if wants_acme and status.is_self_signed:
        text = f"the authority has not issued it yet{failure}"
        return Finding(check, PROBLEM if status.failure else WARNING, text, remedy)
    return Finding(check, WARNING if status.failure else OK, text, remedy if status.failure else "")


def _get(host: str, port: int, path: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection(host, port, timeout=_SECONDS)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
