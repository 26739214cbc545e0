"""Read the local runtime's environment, and make that of its processes.

================ ======== =======================================================================
API_PORT         8080     port of everything HTTP
SMTP_PORT        2525     port of the relay
API_TLS_PORT     8443     port of the same under TLS; 0 for none
SMTP_TLS_PORT    2465     port of the relay under TLS from the first byte on; 0 for none
INBOUND_PORT     2526     port of mail that comes in, as from other mail hosts
CATCH_PORT       1025     port that takes any mail by SMTP and keeps it in the mailbox; 0 for none
MAILPIT_PORT     8025     port of Mailpit's API, and of the mailbox in a browser; 0 for none
POP3_PORT        1110     port at which POP3 reads the mailbox; 0 for none
IMAP_PORT        1143     port at which IMAP reads the mailbox; 0 for none
API_KEY                   the primary account's key; the first start makes one and keeps it
DATA_DIR         .local/  directory of all state; delete it for a fresh start
API_HOST         loopback address that the API binds
LOCAL_NAMES               further names of this machine, in ``Host`` and in the certificate; ``*``
                          for all without a dot, in ``Host`` only
LOCAL_PEERS               networks besides loopback that may use ``/local``; ``any`` for all
DELIVER          false    whether mail may leave this machine; else it goes to the mailbox, and the
                          settings of a smarthost are not used
LOG_OUTPUT       files    where the processes log: ``files`` in DATA_DIR/logs, or ``stdout``
LOCAL_DURABILITY second   when the disk has what was answered: within a ``second``, or before the
                          ``answer``
================ ======== =======================================================================

The ports under TLS have these numbers if the port in the clear has its default and they are free,
and so does the port of mail that comes in if SMTP_PORT has its default. Otherwise the first start
chooses others and keeps them. A port of the mailbox (CATCH_PORT, MAILPIT_PORT, POP3_PORT,
IMAP_PORT) that is taken is left out, unless it was asked for.

Any setting of :class:`chalicelib.core.settings.Settings` may be set too, and wins over the value
that the local runtime would use. AWS variables of the caller are not passed on: nothing of the
local runtime may reach an account in the cloud by accident.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from chalicelib.core import settings
from infrastructure.local import certificates, notices, outgoing_mail
from infrastructure.local.mailpit.choices import ANYBODY
from infrastructure.local.mailpit.run_figures import STARTED_AT
from infrastructure.local.releasing import start as releasing
from infrastructure.local.supervisor import leftovers
from infrastructure.local.supervisor.cloud_access import aws_environment, draw_secret
from infrastructure.local.supervisor.data_folder import (
    ConfigError,
    checked_api_key,
    open_folder,
    stored_api_key,
    stored_secret_key,
    take,
)
from infrastructure.local.supervisor.listeners import Listeners
from infrastructure.local.supervisor.ports import (
    InternalPorts,
    MailboxPorts,
    asked_mailbox_ports,
    choose_ports,
    is_free,
    mailbox_ports,
    public_port,
    require_different,
    require_free,
)
from infrastructure.local.supervisor.user_choices import UserChoices
from infrastructure.local.this_machine import is_this_machine

#: The port of mail that comes in, beside the default of SMTP_PORT
USUAL_INBOUND_PORT = 2526
_LOOPBACK = "127.0.0.1"
_PATHS = ("CATCH_PASSWORDS", "MAILBOX_PASSWORDS", "MAILPIT_PASSWORDS", "MAILPIT_SEND_PASSWORDS")
_USUAL_PORTS = {"API_PORT": 8080, "SMTP_PORT": 2525}
_USUAL_TLS_PORTS = {"API_TLS_PORT": 8443, "SMTP_TLS_PORT": 2465}
_PIDS_FILE = "processes.json"


@dataclass(frozen=True, slots=True)
class LocalConfig:
    """One local runtime. ``lock`` is a descriptor; the directory is taken as long as it is open."""

    api_port: int
    smtp_port: int
    api_tls_port: int
    smtp_tls_port: int
    api_key: str
    data_dir: Path
    ports: InternalPorts
    mailbox_ports: MailboxPorts
    listeners: Listeners
    secret_key: str
    cloud_secret: str
    lock: int
    environ: Mapping[str, str]
    #: Lines about settings of the caller that are not used, and about ports that are left out
    notices: tuple[str, ...] = ()
    #: Whether mail may leave this machine
    delivers: bool = False
    #: A sentence about mail that is released or forwarded, empty if none is
    release_warning: str = ""
    #: When this run began, in seconds since 1970
    started_at: float = field(default_factory=time.time)

    @property
    def way_out(self) -> str:
        """Return by what mail leaves this machine; empty if none leaves."""
        return outgoing_mail.way_out(settings.load(self.child_environment()), self.ports.sink)

    @property
    def public_url(self) -> str:
        """Return the base of every URL, as the caller set it or else on this machine."""
        return self.environ.get("PUBLIC_URL") or f"http://localhost:{self.api_port}"

    @property
    def logs_to_stdout(self) -> bool:
        """Tell whether the processes log to standard output, as those of a container do."""
        return self.environ.get("LOG_OUTPUT") == "stdout"

    @property
    def pids(self) -> Path:
        """Return the file with the ids of the running processes."""
        return self.data_dir / _PIDS_FILE

    @property
    def logs(self) -> Path:
        """Return the directory of the processes' output."""
        return self.data_dir / "logs"

    def child_environment(self) -> dict[str, str]:
        """Return the environment of every process of the runtime."""
        inherited = {
            name: value for name, value in self.environ.items() if not name.startswith("AWS_")
        }
        return {
            **self._local_settings(),
            **inherited,
            **aws_environment(self.ports.cloud_url, self.cloud_secret),
            "API_HOST": self.environ.get("API_HOST") or _LOOPBACK,
            "API_PORT": str(self.api_port),
            "SMTP_PORT": str(self.smtp_port),
            "API_TLS_PORT": str(self.api_tls_port),
            "SMTP_TLS_PORT": str(self.smtp_tls_port),
            **{name: str(port) for name, port in self.mailbox_ports.variables().items()},
            **self.listeners.variables(self.mailbox_ports.variables()),
            **_absolute_paths(self.environ),
            "API_KEY": self.api_key,
            "DATA_DIR": str(self.data_dir),
            "PUBLIC_URL": self.public_url,
            "PYTHONUNBUFFERED": "1",
            STARTED_AT: str(self.started_at),
            notices.VARIABLE: str(self.pids.with_name(notices.PIPE)),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), self._no_proxy()),
        }

    def _local_settings(self) -> dict[str, str]:
        certificate = certificates.files(self.data_dir)
        values = {
            **settings.local_values(),
            "SECRET_KEY": self.secret_key,
            "DNS_SERVERS": f"{_LOOPBACK}:{self.ports.dns}",
            "TRACKING_PORT": str(self._tracking_port()),
            "SMARTHOST": f"{_LOOPBACK}:{self.ports.sink}",
            "MX_PORT": str(self.ports.sink),
            "DELIVERY_JOURNAL": str(self.data_dir / "journal"),
            "RELAY_PORTS": str(self.smtp_port),
            "RELAY_INBOUND_PORTS": str(self.ports.inbound),
            "RELAY_TLS_PORTS": str(self.smtp_tls_port or ""),
            "RELAY_CERTIFICATE": str(certificate.certificate),
            "RELAY_KEY": str(certificate.key),
        }
        if "SMARTHOST" in self.environ or "TRANSPORT" in self.environ:
            # Plain text is for the sink on loopback, not for a host of the caller's choice.
            values.pop("SMARTHOST_TLS", None)
        if "DNS_SERVERS" in self.environ and self.delivers:
            # The mail hosts that other resolvers name are not the sink.
            values.pop("MX_PORT")
        return values

    def _tracking_port(self) -> int:
        """Return the port at which a browser reaches the API in the clear."""
        url = urlsplit(self.public_url)
        if url.scheme == "http" and is_this_machine(url.netloc.encode()):
            return url.port or 80
        return self.api_port

    def _no_proxy(self) -> str:
        theirs = self.environ.get("NO_PROXY") or self.environ.get("no_proxy")
        return ",".join(filter(None, (theirs, _LOOPBACK, "localhost")))


def _absolute_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the paths that the user named for processes that run in another directory."""
    return {
        name: os.path.abspath(environ[name])
        for name in _PATHS
        if environ.get(name) not in (None, "", ANYBODY)
    }


def prepare(environ: Mapping[str, str]) -> LocalConfig:
    """Read ``environ``, make the data directory and take it; raises :class:`ConfigError`."""
    public_ports = _public_ports(environ)
    choices = UserChoices.read(environ, public_ports["SMTP_PORT"])
    delivers = choices.settings.deliver
    data_dir = open_folder(environ.get("DATA_DIR") or ".local")
    api_key = checked_api_key(environ)
    lock = take(data_dir)
    leftovers.end(data_dir / _PIDS_FILE)
    listeners = Listeners()
    try:
        ports = _internal_ports(data_dir, public_ports)
        others = {*public_ports.values(), *asdict(ports).values()}
        host = environ.get("API_HOST") or _LOOPBACK
        mailbox, left_out = mailbox_ports(asked_mailbox_ports(environ), others, host, listeners)
        certificates.provide(data_dir, choices.access.names)
        notice = "" if delivers else outgoing_mail.notice_of_unused(environ)
        return LocalConfig(
            api_port=public_ports["API_PORT"],
            smtp_port=public_ports["SMTP_PORT"],
            api_tls_port=_tls_port("API", public_ports, ports.https),
            smtp_tls_port=_tls_port("SMTP", public_ports, ports.smtps),
            api_key=api_key or stored_api_key(data_dir / "api_key"),
            data_dir=data_dir,
            ports=ports,
            mailbox_ports=mailbox,
            listeners=listeners,
            secret_key=stored_secret_key(data_dir / "secret.key"),
            cloud_secret=draw_secret(data_dir),
            lock=lock,
            environ=dict(environ) if delivers else outgoing_mail.without_way_out(environ),
            notices=tuple(filter(None, (notice, *left_out))),
            delivers=delivers,
            release_warning=releasing.begin(choices.release, data_dir),
        )
    except ConfigError:
        listeners.close()
        os.close(lock)
        raise


def _public_ports(environ: Mapping[str, str]) -> dict[str, int]:
    """Return the ports that are known before any is chosen, by their variables; 0 for none.

    Those under TLS and those of the mailbox are among them only if the user named them.
    """
    ports = {name: public_port(environ, name, port) for name, port in _USUAL_PORTS.items()}
    for name in _USUAL_TLS_PORTS:
        if environ.get(name):
            ports[name] = public_port(environ, name, 0, lowest=0)
    ports["INBOUND_PORT"] = public_port(environ, "INBOUND_PORT", 0, lowest=0)
    ports |= asked_mailbox_ports(environ)
    require_different(ports)
    return ports


def _internal_ports(data_dir: Path, public_ports: Mapping[str, int]) -> InternalPorts:
    """Choose the other ports of a runtime; raises ConfigError if a public one is taken."""
    for name, port in public_ports.items():
        if port:
            require_free(name, port)
    return choose_ports(data_dir, tuple(public_ports.values()), _inbound_port(public_ports))


def _inbound_port(public_ports: Mapping[str, int]) -> int:
    """Return the port of mail that comes in, 0 if any free one will do."""
    port = public_ports["INBOUND_PORT"]
    if port or USUAL_INBOUND_PORT in public_ports.values():
        return port
    return _usual_port("SMTP_PORT", public_ports, USUAL_INBOUND_PORT, 0)


def _tls_port(protocol: str, public_ports: Mapping[str, int], other: int) -> int:
    """Return the port of a protocol under TLS: that of the user, the usual one, or the other."""
    name = f"{protocol}_TLS_PORT"
    if name in public_ports:
        return public_ports[name]
    return _usual_port(f"{protocol}_PORT", public_ports, _USUAL_TLS_PORTS[name], other)


def _usual_port(beside: str, public_ports: Mapping[str, int], usual: int, other: int) -> int:
    """Return the usual number if it is free and the port beside it has its own, or the other."""
    is_usual = public_ports[beside] == _USUAL_PORTS[beside]
    return usual if is_usual and is_free(usual, socket.SOCK_STREAM) else other
