"""Run production on this machine, in the foreground: ``python -m infrastructure.machine.serve``.

It starts the store, the tables and queues, the workers, the delivery processes, the HTTP ports, the
relay, and what looks after all of them. SIGTERM and Ctrl-C stop every process in the opposite
order; messages under way come to their end. The exit status is 0 after that, 1 when something did
not start, and 2 when a setting cannot work.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from functools import partial
from pathlib import Path

from chalicelib.core import aws, logs, settings
from chalicelib.users.store import users
from infrastructure.bootstrap import ACCOUNT_ID
from infrastructure.local.address_file import address_file
from infrastructure.local.health import HTTP_PORT
from infrastructure.local.supervisor import forks, open_files, probes
from infrastructure.local.supervisor.child import GRACE, Process, module_process
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.local.supervisor.processes import StartFailed, StopRequested, Supervisor
from infrastructure.machine.configuration import MachineConfig, prepare

ROOT = Path(__file__).resolve().parents[2]
_WORKER = "infrastructure.machine.worker"
_IMPORTED = (
    "infrastructure.provision",
    "infrastructure.machine.first_start",
    "infrastructure.machine.edge",
    _WORKER,
    "infrastructure.machine.keeper",
    "relay",
    "outbound",
)
# The store waits until its predecessor has ended, and then reads its whole state
_STORE_PATIENCE = 60.0

_log = logging.getLogger(__name__)


class Machine:
    """The processes of one service."""

    def __init__(self, config: MachineConfig) -> None:
        self._config = config
        self._environment = config.child_environment()
        self._module = partial(module_process, self._environment)

    def start(self, supervisor: Supervisor) -> None:
        """Start everything; return when mail can be sent."""
        supervisor.start(self._store(), meanwhile=self._import)
        supervisor.run(self._module("provision", "infrastructure.provision"), aws.make_clients)
        supervisor.run(self._module("first-start", "infrastructure.machine.first_start"))
        supervisor.start(*self._workers(), self._delivery())
        supervisor.start(self._edge(), self._relay())
        supervisor.start(self._module("keeper", "infrastructure.machine.keeper"))

    def _import(self) -> None:
        forks.preload(_IMPORTED, self._environment)

    def _store(self) -> Process:
        port = self._config.ports.cloud
        return self._module(
            "store",
            "infrastructure.local.cloud",
            *("--port", str(port), "--data", str(self._config.data_dir / "cloud")),
            ready=lambda: probes.answers_http(port, "/_ministack/health", (200,)),
            patience=_STORE_PATIENCE,
            grace=_STORE_PATIENCE,
            # Without the supervisor, it still brings everything to the disk before it ends
            orphan_signal=signal.SIGTERM,
        )

    def _workers(self) -> list[Process]:
        # A batch of events waits for others, and a webhook's target may answer late
        longest = 2 * self._config.service.webhook_timeout + self._config.service.webhook_window
        return [
            self._module(
                f"worker-{number}",
                _WORKER,
                *(("--schedules",) if number == 1 else ()),
                grace=longest + GRACE,
            )
            for number in range(1, self._config.workers + 1)
        ]

    def _delivery(self) -> Process:
        # A mail host may answer a message late
        service = self._config.service
        longest = service.smtp_command_timeout + service.smtp_final_timeout
        return self._module("delivery", "outbound", grace=longest + GRACE)

    def _edge(self) -> Process:
        port = self._config.machine.http_port
        address = self._config.machine.listen_address or "127.0.0.1"
        return self._module(
            "edge",
            "infrastructure.machine.edge",
            ready=lambda: probes.answers_http(port, "/.well-known/", (308, 404), host=address),
        )

    def _relay(self) -> Process:
        address = self._config.machine.listen_address or "127.0.0.1"
        ports = (self._config.machine.submission_port, self._config.machine.inbound_port)
        greeting = [port for port in ports if port]
        return self._module(
            "relay",
            "relay",
            ready=lambda: all(probes.greets_by_smtp(port, host=address) for port in greeting),
            grace=self._config.service.relay_drain + GRACE,
        )


def main() -> int:
    """Run until asked to stop; return the exit status."""
    try:
        open_files.allow()
        config = prepare(os.environ)
    except ConfigError as error:
        print(f"postfinch: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"postfinch: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    # This process, too, and its forks have the settings from here on
    os.environ.clear()
    os.environ.update(config.child_environment())
    settings.settings.cache_clear()
    logs.configure()
    with Supervisor(
        config.logs, ROOT, config.pids, output=sys.stdout.fileno(), report=_report
    ) as supervisor:
        try:
            Machine(config).start(supervisor)
        except StartFailed as failure:
            if text := str(failure):
                _log.error("%s", text)
            return 1
        except StopRequested:
            return 0
        with address_file(config.data_dir, address_of(config)):
            first_user = {} if users.count_administrators(ACCOUNT_ID) else _first_user(config)
            _log.info("Postfinch is ready", extra=announcement(config) | first_user)
            supervisor.watch()
            _log.info("stopping")
    return 0


def address_of(config: MachineConfig) -> dict[str, object]:
    """Return where other commands of this machine reach the service."""
    return {
        "api_url": config.service.public_url,
        "api_key": config.api_key,
        "smtp_host": config.service.mail_hostname,
        "smtp_port": config.machine.submission_port,
        "smtp_tls_port": config.machine.submissions_port,
        HTTP_PORT: config.machine.http_port,
    }


def announcement(config: MachineConfig) -> dict[str, object]:
    """Return where the service is, and the first account's key if it was made now."""
    url = config.service.public_url
    key = {"api_key": config.api_key} if config.new_api_key else {}
    return {
        "console": f"{url}/console/",
        "api": f"{url}/api/v1",
        "smtp_ports": [config.machine.submission_port, config.machine.submissions_port],
        "transport": config.service.transport,
        "data": str(config.data_dir),
        **key,
    }


def _first_user(config: MachineConfig) -> dict[str, object]:
    """Return how to make the first administrator, who signs in to the console."""
    email = config.machine.admin_email or "you@example.com"
    return {"first_administrator": f"postfinch admin --local add-user {email}"}


def _report(line: str) -> None:
    _log.warning("%s", line)


if __name__ == "__main__":
    sys.exit(main())
