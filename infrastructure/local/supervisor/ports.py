"""Choose the ports of a runtime: those that the user named, and internal ones that are kept."""

from __future__ import annotations

import itertools
import json
import os
import socket
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.local.supervisor.listeners import Listeners
from infrastructure.local.supervisor.private_files import replace_private

# Outside the range from which the kernel gives ports to outgoing connections.
_INTERNAL_RANGE = (20_000, 32_000)
_PORTS_APART = 16
_LOOPBACK = "127.0.0.1"
_PORTS_FILE = "ports.json"


class NotRunning(RuntimeError):
    """Nothing runs on a data directory; the message is one line for the user."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(f"Nothing runs on `{data_dir}/`; start it with `make run`.")


@dataclass(frozen=True, slots=True)
class InternalPorts:
    """Ports that the runtime chose itself, kept in ``ports.json``.

    Only its own processes use them, but for ``https`` and ``smtps``, which wait for a user whose
    choice of ports leaves none for TLS, and ``inbound``, which the user may name. Not every runtime
    uses all of them.
    """

    cloud: int
    sink: int
    dns: int
    inbound: int
    https: int
    smtps: int
    relay_metrics: int

    @property
    def cloud_url(self) -> str:
        """Return the address of the local cloud."""
        return f"http://{_LOOPBACK}:{self.cloud}"

    @classmethod
    def read(cls, data_dir: Path) -> InternalPorts:
        """Return the ports that the runtime chose, for one of its processes."""
        return cls(**json.loads((data_dir / _PORTS_FILE).read_text()))

    @classmethod
    def of_running(cls, data_dir: Path) -> InternalPorts:
        """Return the same for a tool beside the runtime; raises :class:`NotRunning`."""
        try:
            ports = cls.read(data_dir)
            socket.create_connection((_LOOPBACK, ports.cloud), timeout=5).close()
        except OSError:
            raise NotRunning(data_dir) from None
        return ports


@dataclass(frozen=True, slots=True)
class MailboxPorts:
    """Ports at which other programs hand mail to the mailbox and read it; 0 for one not served.

    ``catch`` takes any mail by SMTP, ``mailpit`` has Mailpit's API.
    """

    catch: int
    mailpit: int
    pop3: int
    imap: int

    def variables(self) -> dict[str, int]:
        """Return the ports by the names of their variables."""
        return {f"{name.upper()}_PORT": port for name, port in asdict(self).items()}


#: Those that programs which know Mailpit try, and the next ones
USUAL_MAILBOX_PORTS = MailboxPorts(catch=1025, mailpit=8025, pop3=1110, imap=1143)


def asked_mailbox_ports(environ: Mapping[str, str]) -> dict[str, int]:
    """Return the ports that the user named for the mailbox, by the names of their variables."""
    return {
        name: public_port(environ, name, 0, lowest=0)
        for name in USUAL_MAILBOX_PORTS.variables()
        if environ.get(name)
    }


def mailbox_ports(
    choices: Mapping[str, int], others: Collection[int], host: str, listeners: Listeners
) -> tuple[MailboxPorts, list[str]]:
    """Listen on the ports of the mailbox; return them, and a line for each that is left out.

    ``choices`` are those that the user named, ``others`` are the ports of other things. Raises
    :class:`ConfigError` if one of the choices is taken; a usual port is then left out.
    """
    ports, left_out = dict(choices), []
    for name, port in choices.items():
        if port and not _listens(listeners, name, host, port):
            raise _not_usable(name, port)
    for name, port in USUAL_MAILBOX_PORTS.variables().items():
        if name in choices:
            continue
        is_usable = port not in others and is_free(port, socket.SOCK_STREAM)
        ports[name] = port if is_usable and _listens(listeners, name, host, port) else 0
        if not ports[name]:
            left_out.append(f"Port {port} is taken and left out; set {name} to use another one.")
    fields = {name.removesuffix("_PORT").lower(): port for name, port in ports.items()}
    return MailboxPorts(**fields), left_out


def _listens(listeners: Listeners, name: str, host: str, port: int) -> bool:
    try:
        listeners.open(name, host, port)
    except OSError:
        return False
    return True


def choose_ports(data_dir: Path, exclude: tuple[int, ...], inbound: int = 0) -> InternalPorts:
    """Keep the ports of the last run that are still free, choose the others, and store all.

    ``inbound`` is the port that the user named for mail that comes in, 0 for none.
    """
    path = data_dir / _PORTS_FILE
    earlier_ports = _earlier_ports(path)
    ports_by_name: dict[str, int] = {"inbound": inbound} if inbound else {}
    for name in InternalPorts.__slots__:
        if name in ports_by_name:
            continue
        used = {*exclude, *ports_by_name.values()}
        port = earlier_ports.get(name)
        ports_by_name[name] = port if port and _is_usable(port, used) else _free_port(used)
    ports = InternalPorts(**ports_by_name)
    replace_private(path, json.dumps(asdict(ports)))
    return ports


def _earlier_ports(path: Path) -> dict[str, int]:
    try:
        ports = json.loads(path.read_text()) if path.exists() else {}
        return {name: int(port) for name, port in ports.items()}
    except (ValueError, TypeError, AttributeError):
        raise ConfigError(
            f"{path} is damaged: remove it, and the next start chooses ports anew"
        ) from None


def is_free(port: int, *kinds: socket.SocketKind) -> bool:
    """Tell whether ``port`` can be bound on loopback for each of ``kinds`` (TCP and UDP)."""
    return all(
        _can_bind(family, kind, host, port)
        for family, host in ((socket.AF_INET, _LOOPBACK), (socket.AF_INET6, "::1"))
        for kind in kinds
    )


def _can_bind(family: int, kind: int, host: str, port: int) -> bool:
    try:
        with closing(socket.socket(family, kind)) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError:
        return family == socket.AF_INET6 and not _has_ipv6()
    return True


def _has_ipv6() -> bool:
    try:
        with closing(socket.socket(socket.AF_INET6, socket.SOCK_STREAM)) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _free_port(used: set[int]) -> int:
    """Return the first usable port from one on that depends on this process.

    Its ports are bound seconds later. Services that start meanwhile have other process ids, so they
    do not choose the same ones.
    """
    lowest, end = _INTERNAL_RANGE
    numbers = itertools.count(os.getpid() * _PORTS_APART)
    ports = (lowest + number % (end - lowest) for number in numbers)
    return next(port for port in ports if _is_usable(port, used))


def _is_usable(port: int, used: set[int]) -> bool:
    return port not in used and is_free(port, socket.SOCK_STREAM, socket.SOCK_DGRAM)


def public_port(environ: Mapping[str, str], name: str, default: int, lowest: int = 1) -> int:
    """Return the port that a variable names; raises :class:`ConfigError`."""
    text = environ.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and lowest <= int(text) <= 65_535):
        raise ConfigError(f"{name}={text!r} is not a port number ({lowest} to 65535)")
    return int(text)


def require_different(ports: Mapping[str, int]) -> None:
    """Raise :class:`ConfigError` if two variables name the same port, other than 0 (none)."""
    for (name, port), (other, same) in combinations(ports.items(), 2):
        if port and port == same:
            raise ConfigError(f"{name} and {other} are both {port}: they must differ")


def require_free(name: str, port: int) -> None:
    """Raise :class:`ConfigError` if the port that a variable names cannot be bound."""
    if not is_free(port, socket.SOCK_STREAM):
        raise _not_usable(name, port)


def _not_usable(name: str, port: int) -> ConfigError:
    return ConfigError(f"port {port} is taken or not allowed: set {name} to another one")
