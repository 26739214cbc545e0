"""Run all checks of a machine at the same time, and list their results in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core.dns import LookupFailed
from infrastructure.machine.checks import (
    administrators,
    clock_skew,
    name_records,
    port_25,
    public_ports,
    resources,
    running_service,
    sender_records,
    smarthost,
)
from infrastructure.machine.checks.finding import NO_ANSWER, PROBLEM, SKIPPED, Finding
from infrastructure.machine.checks.installation import Installation
from infrastructure.machine.settings import SMTP

Check = Callable[[], Finding | Iterable[Finding]]

_MOST_THREADS = 16


def of_setup(installation: Installation, *, has_access: bool) -> dict[str, Check]:
    """Return the checks of what the service needs, by their names; it need not run.

    ``has_access`` tells whether what a running service has stored can be read.
    """
    own_domain = sender_records.own_domain if has_access else sender_records.no_domain
    check_administrators = (
        administrators.check_administrators if has_access else administrators.say_how
    )
    return {
        "Address": lambda: name_records.check_addresses(installation),
        "MX": lambda: name_records.check_mx(installation),
        "SPF": lambda: sender_records.check_spf_record(installation),
        "DKIM": lambda: sender_records.check_dkim(installation, own_domain),
        "DMARC": lambda: sender_records.check_dmarc(installation),
        "Tracked links": lambda: name_records.check_track(installation),
        "PTR and EHLO": lambda: sender_records.check_address_names(installation),
        "Outgoing mail": lambda: port_25.check_port_25(installation),
        "Ports": lambda: public_ports.check_ports(installation),
        "Clock": lambda: clock_skew.check_clock(installation),
        "Disk": lambda: resources.check_disk(installation),
        "Memory": resources.check_memory,
        "Open files": resources.check_open_files,
        "Administrator": lambda: check_administrators(installation),
        "Configuration file": lambda: resources.check_permissions(installation),
    }


def of_service(installation: Installation, *, has_access: bool) -> dict[str, Check]:
    """Return the checks of a service that runs, or should."""
    checks: dict[str, Check] = {
        "Service": lambda: running_service.check_health(installation),
        "Certificates": lambda: running_service.check_certificates(installation),
        "Backups": lambda: running_service.check_backups(installation),
        "Alarms": lambda: running_service.check_alarms(installation),
    }
    if installation.service.transport == SMTP:
        checks["Smarthost"] = lambda: smarthost.check_smarthost(installation.service)
    if has_access:
        checks["Dead letters"] = running_service.check_dead_letters
    return checks


def results(checks: dict[str, Check]) -> Iterator[Finding]:
    """Yield the findings of all checks in their order, each as soon as it is there."""
    with ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="checks") as threads:
        futures = [threads.submit(_result, name, check) for name, check in checks.items()]
        for future in futures:
            yield from future.result()


def _result(name: str, check: Check) -> list[Finding]:
    try:
        result = check()
        return [result] if isinstance(result, Finding) else list(result)
    except LookupFailed as error:
        return [Finding(name, PROBLEM, str(error), NO_ANSWER)]
    except PermissionError as error:
        text = f"this user may not read {error.filename}"
        return [Finding(name, SKIPPED, text, "call as root, or as the user of the service")]
    except (BotoCoreError, ClientError) as error:
        return [Finding(name, PROBLEM, str(error), "look at the log of the service")]
