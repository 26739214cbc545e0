"""Run the whole service on this machine, in the foreground: ``python -m infrastructure.local.run``.

It starts in this order: the local cloud; the mail sink and the port that catches mail, which need
no cloud; the tables, queues and bucket; what a first start stores; the workers; the API, the relay
and the DNS server. SIGTERM and Ctrl-C stop every process in the opposite order, and a second one
ends what a worker still waits for. The exit status is 0 after that, 1 when something did not start,
and 2 when the environment has a value that cannot work.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from functools import partial
from pathlib import Path
from urllib.parse import quote

from chalicelib.core import settings
from infrastructure.local import certificates, outgoing_mail
from infrastructure.local.address_file import address_file, address_of
from infrastructure.local.catching.choices import IMPLICIT, STARTTLS, STORE, CatchChoices
from infrastructure.local.mailpit.choices import MailpitChoices
from infrastructure.local.mailpit.log_lines import listening_lines
from infrastructure.local.mailpit.variables import translated, with_their_name
from infrastructure.local.supervisor import forks, open_files, probes
from infrastructure.local.supervisor.child import GRACE, Process, die_with_parent, module_process
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.local.supervisor.environment import LocalConfig, prepare
from infrastructure.local.supervisor.processes import StartFailed, StopRequested, Supervisor

ROOT = Path(__file__).resolve().parents[2]
WORKERS = ("worker-1", "worker-2")
_WORKER, _CATCHING = "infrastructure.local.worker", "infrastructure.local.catching"
_SINK, _PROVISION = "infrastructure.local.sink", "infrastructure.provision"
# What the supervisor imports for processes that it starts later: while the cloud starts, and then
# while the tables are made
_IMPORTED_FOR_MAIL = (_SINK, _CATCHING)
_IMPORTED = (
    "infrastructure.bootstrap",
    "infrastructure.local.gateway",
    _WORKER,
    "relay",
    "infrastructure.local.dns",
)
# Ports that the API's process serves besides its own
_PORTS_OF_API = ("MAILPIT_PORT", "POP3_PORT", "IMAP_PORT")
# The cloud waits until its predecessor has ended, and then reads its whole state.
_CLOUD_PATIENCE = 60.0
# The supervisor listens already, so a process that has ended is noticed only between two probes
_GREETING_SECONDS = 1.0

_RED, _PLAIN = "\x1b[1;31m", "\x1b[0m"

_READY = """\

Postfinch is ready.
{warning}
  Console   {url}/console/#local={fragment}
  API       {url}/api/v1
  API key   {key}
  SMTP      localhost:{smtp_port} (STARTTLS; user SMTP_Injection, password: the API key)
  TLS       {tls} (trust {authority})
  Inbound   localhost:{inbound_port} (SMTP for mail that comes in, as from other mail hosts)
  Catching  {catching}
  Mailpit   {mailpit}
{readers}  Mailbox   {url}/local/mailbox
  DNS       {url}/local/dns
  Data      {data_dir}{logs}
{first_message}
Ctrl-C stops everything.
"""

_FIRST_MESSAGE = """
Send a first message, then look into the mailbox:

  curl -s {url}/api/v1/transmissions -H 'Authorization: {key}' \
-H 'Content-Type: application/json' -d '{message}'
  curl -s {url}/local/mailbox
"""

_MESSAGE = (
    '{"content": {"from": "hello@example.test", "subject": "Hello", "text": "It works."}, '
    '"recipients": [{"address": "you@example.com"}]}'
)


class Runtime:
    """The processes of one local runtime."""

    def __init__(self, config: LocalConfig) -> None:
        self._config = config
        self._environment = config.child_environment()
        self._python = partial(module_process, self._environment)

    def start(self, supervisor: Supervisor) -> None:
        """Start everything; return when mail can be sent."""
        catching, way = self._catching(), CatchChoices.read(self._environment).way
        early, late = (catching, []) if way == STORE else ([], catching)

        def catch_mail() -> None:
            # Before the cloud is ready, which catching does not need
            forks.preload(_IMPORTED_FOR_MAIL, self._environment)
            supervisor.start(self._sink(), *early, meanwhile=self._prepare_provision)

        supervisor.start(self._cloud(), meanwhile=catch_mail)
        provision = self._python("provision", _PROVISION)
        supervisor.run(provision, meanwhile=self._import)
        supervisor.run(self._python("bootstrap", "infrastructure.bootstrap"))
        supervisor.start(
            *(self._worker(name) for name in WORKERS[1:]),
            self._worker(WORKERS[0], "--schedules"),
            *self._delivery_containers(),
        )
        supervisor.start(self._api(), self._relay(), self._dns(), *late)

    def _prepare_provision(self) -> None:
        """Import what it needs, and read what its client needs, while the cloud starts."""
        forks.preload((_PROVISION,), self._environment)
        if forks.FORKS:
            # Imported here, as all that is preloaded: the cloud starts without it
            from chalicelib.core import aws

            aws.make_client("cloudformation")

    def _import(self) -> None:
        """Import what all later processes need, and make their clients."""
        forks.preload(_IMPORTED, self._environment)
        if forks.FORKS:
            from chalicelib.core import aws

            aws.make_clients()

    def _worker(self, name: str, *options: str) -> Process:
        return self._python(name, _WORKER, "--name", name, *options, grace=self._longest_work())

    def _delivery_containers(self) -> list[Process]:
        """Return the program of the delivery container, where it delivers."""
        if settings.load(self._environment).delivery != "container":
            return []
        return [self._python("delivery", "outbound", grace=self._longest_work())]

    def _longest_work(self) -> float:
        """Return how long the end of a process may take: a mail host may answer a message late.

        Or a webhook's target, after its worker waited for the server of its token.
        """
        current = settings.load(self._environment)
        longest_reply = max(
            current.smtp_command_timeout + current.smtp_final_timeout, 2 * current.webhook_timeout
        )
        return longest_reply + GRACE

    def _cloud(self) -> Process:
        port = self._config.ports.cloud
        return self._python(
            "cloud",
            "infrastructure.local.cloud",
            *("--port", str(port), "--data", str(self._config.data_dir / "cloud")),
            ready=lambda: probes.answers_http(port, "/_ministack/health", (200,)),
            patience=_CLOUD_PATIENCE,
            grace=_CLOUD_PATIENCE,
            # Without the supervisor, the cloud still brings everything to the disk before it ends.
            orphan_signal=signal.SIGTERM,
        )

    def _sink(self) -> Process:
        ports = self._config.ports
        return self._python(
            "sink",
            _SINK,
            *("--host", "127.0.0.1", "--port", str(ports.sink)),
            *("--data", str(self._config.data_dir / "mail")),
            *("--inbound", f"127.0.0.1:{ports.inbound}"),
            *("--dns", f"127.0.0.1:{ports.dns}"),
            ready=lambda: probes.greets_by_smtp(ports.sink),
        )

    def _api(self) -> Process:
        port, key = self._config.api_port, {"Authorization": self._config.api_key}
        return self._python(
            "api",
            "infrastructure.local.gateway",
            ready=lambda: probes.answers_http(port, "/api/v1/account", (200,), key),
            descriptors=self._config.listeners.descriptors(
                "MAILPIT_PORT", "POP3_PORT", "IMAP_PORT"
            ),
        )

    def _relay(self) -> Process:
        port = self._config.smtp_port
        return self._python("relay", "relay", ready=lambda: probes.greets_by_smtp(port))

    def _catching(self) -> list[Process]:
        """Return the port that takes any mail, where there is one."""
        port = self._config.mailbox_ports.catch
        if not port:
            return []
        speaks_tls = CatchChoices.read(self._environment).tls == IMPLICIT
        ready = partial(probes.greets_by_smtp, port, is_tls=speaks_tls, seconds=_GREETING_SECONDS)
        return [
            self._python(
                "catching",
                _CATCHING,
                ready=ready,
                descriptors=self._config.listeners.descriptors("CATCH_PORT"),
            )
        ]

    def _dns(self) -> Process:
        return self._python(
            "dns",
            "infrastructure.local.dns",
            *("--port", str(self._config.ports.dns)),
            *("--data", str(self._config.data_dir / "dns")),
        )


def announcement(config: LocalConfig) -> str:
    """Return what a user needs to send a first message."""
    first_message = _FIRST_MESSAGE.format(
        url=config.public_url, key=config.api_key, message=_MESSAGE
    )
    return _READY.format(
        url=config.public_url,
        key=config.api_key,
        fragment=quote(config.api_key, safe=""),
        smtp_port=config.smtp_port,
        tls=_tls_addresses(config),
        inbound_port=config.ports.inbound,
        catching=_catching_address(config),
        mailpit=_mailpit_address(config),
        readers=_reader_addresses(config),
        authority=certificates.files(config.data_dir).authority,
        data_dir=config.data_dir,
        warning=_red(outgoing_mail.warning(config.way_out)) + _red(config.release_warning),
        logs="" if config.logs_to_stdout else f" (logs in {config.logs})",
        # Where mail leaves, the line would write to a stranger
        first_message="" if config.way_out else first_message,
    )


def _red(text: str) -> str:
    """Return a line of its own, in red on a terminal; nothing for no text."""
    start, end = (_RED, _PLAIN) if sys.stdout.isatty() else ("", "")
    return f"\n  {start}{text}{end}\n" if text else ""


def _catching_address(config: LocalConfig) -> str:
    port, choices = config.mailbox_ports.catch, CatchChoices.read(config.environ)
    if not port:
        return "off"
    login = "with a login of CATCH_PASSWORDS" if choices.passwords else "without a login"
    tls = {IMPLICIT: " under TLS", STARTTLS: " with STARTTLS"}.get(choices.tls, "")
    way = "" if choices.way == STORE else "; it is sent as if with the API key"
    return f"localhost:{port} (any mail by SMTP{tls}, {login}{way})"


def _lines_of_mailpit(config: LocalConfig) -> list[str]:
    """Return the lines that programs wait for in the output of a container; else none."""
    if not config.logs_to_stdout:
        return []
    ports = config.mailbox_ports
    root = MailpitChoices.read(config.environ).root
    return listening_lines(ports.catch, ports.mailpit, root)


def _mailpit_address(config: LocalConfig) -> str:
    port = config.mailbox_ports.mailpit
    if not port:
        return "off"
    choices = MailpitChoices.read(config.environ)
    login = "; logins of MAILPIT_PASSWORDS" if choices.passwords else ""
    return f"http://localhost:{port}{choices.root}/ (the mailbox, and Mailpit's API{login})"


def _reader_addresses(config: LocalConfig) -> str:
    """Return a line for each port that mail readers may use."""
    name = "MAILBOX_PASSWORDS"
    logins = f"logins of {name}" if config.environ.get(name) else "any login"
    ports = {"POP3": config.mailbox_ports.pop3, "IMAP": config.mailbox_ports.imap}
    return "".join(
        f"  {name}      localhost:{port} (the mailbox; {logins})\n"
        for name, port in ports.items()
        if port
    )


def _tls_addresses(config: LocalConfig) -> str:
    https = f"https://localhost:{config.api_tls_port}" if config.api_tls_port else ""
    smtps = f"smtps://localhost:{config.smtp_tls_port}" if config.smtp_tls_port else ""
    return " and ".join(filter(None, (https, smtps))) or "off"


def main(arguments: list[str] | None = None) -> int:
    """Run until asked to stop; return the exit status."""
    parser = argparse.ArgumentParser(description="Run Postfinch on this machine.")
    parser.add_argument(
        "--stop-with-parent",
        action="store_true",
        help="stop when the process that started this one ends (Linux)",
    )
    parser.add_argument(
        "--deliver",
        action="store_true",
        help="let mail leave this machine, as DELIVER=true does",
    )
    options = parser.parse_args(arguments)
    if options.stop_with_parent:
        die_with_parent(signal.SIGTERM, os.getppid())
    try:
        open_files.allow()
        environ, lines = translated(os.environ)
        config = prepare(environ | ({"DELIVER": "true"} if options.deliver else {}))
    except ConfigError as error:
        print(f"postfinch: {with_their_name(str(error), os.environ)}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"postfinch: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    for line in (*lines, *config.notices):
        print(line, flush=True)
    output = sys.stdout.fileno() if config.logs_to_stdout else None
    with Supervisor(config.logs, ROOT, config.pids, output=output) as supervisor:
        try:
            Runtime(config).start(supervisor)
        except StartFailed as failure:
            if text := str(failure):
                print(f"postfinch: {text}", file=sys.stderr)
            return 1
        except StopRequested:
            return 0
        with address_file(config.data_dir, address_of(config)):
            print(*_lines_of_mailpit(config), announcement(config), sep="\n", flush=True)
            supervisor.watch()
            print("Stopping.", flush=True)
            config.listeners.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
