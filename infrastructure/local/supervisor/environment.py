"""Read the local runtime's environment, and make that of its processes.

================ ======== =======================================================================
API_PORT         8080     port of everything HTTP
SMTP_PORT        2525     port of the relay
API_TLS_PORT     8443     port of the same under TLS; 0 for none
SMTP_TLS_PORT    2465     port of the relay under TLS from the first byte on; 0 for none
API_KEY                   the primary account's key; the first start makes one and keeps it
DATA_DIR         .local/  directory of all state; delete it for a fresh start
API_HOST         loopback address that the API binds
LOCAL_NAMES               further names of this machine, in ``Host`` and in the certificate
LOCAL_PEERS               networks besides loopback that may use ``/local``; ``any`` for all
LOG_OUTPUT       files    where the processes log: ``files`` in DATA_DIR/logs, or ``stdout``
LOCAL_DURABILITY second   when the disk has what was answered: within a ``second``, or before the
                          ``answer``
================ ======== =======================================================================

The ports under TLS have these numbers if the port in the clear has its default and they are free.
Otherwise the first start chooses others and keeps them.

Any setting of :class:`chalicelib.core.settings.Settings` may be set too, and wins over the value
that the local runtime would use. AWS variables of the caller are not passed on: nothing of the
local runtime may reach an account in the cloud by accident.
"""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from urllib.parse import urlsplit

from chalicelib.core import settings
from infrastructure.local import certificates, notices
from infrastructure.local.supervisor import leftovers
from infrastructure.local.supervisor.cloud_access import aws_environment, draw_secret
from infrastructure.local.supervisor.private_files import replace_private
from infrastructure.local.this_machine import LocalAccess, is_this_machine

# Outside the range from which the kernel gives ports to outgoing connections.
_INTERNAL_RANGE = (20_000, 32_000)
_PORTS_APART = 16
_LOOPBACK = "127.0.0.1"
_PORTS_FILE = "ports.json"
_PIDS_FILE = "processes.json"
_SECRET_BYTES = 32
_LOG_OUTPUTS = ("files", "stdout")
_DURABILITIES = ("second", "answer")


class ConfigError(ValueError):
    """The runtime cannot start with this environment; the message is one line for the user."""


class NotRunning(RuntimeError):
    """Nothing runs on a data directory; the message is one line for the user."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(f"Nothing runs on `{data_dir}/`; start it with `make run`.")


@dataclass(frozen=True, slots=True)
class InternalPorts:
    """Ports that the runtime chose itself, kept in ``ports.json``.

    Only its own processes use them, but for ``https`` and ``smtps``, which wait for a user whose
    choice of ports leaves none for TLS.
    """

    cloud: int
    sink: int
    dns: int
    inbound: int
    https: int
    smtps: int

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
class LocalConfig:
    """One local runtime. ``lock`` is a descriptor; the directory is taken as long as it is open."""

    api_port: int
    smtp_port: int
    api_tls_port: int
    smtp_tls_port: int
    api_key: str
    data_dir: Path
    ports: InternalPorts
    secret_key: str
    cloud_secret: str
    lock: int
    environ: Mapping[str, str]

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
            "API_KEY": self.api_key,
            "DATA_DIR": str(self.data_dir),
            "PUBLIC_URL": self.public_url,
            "PYTHONUNBUFFERED": "1",
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
        if "DNS_SERVERS" in self.environ:
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


def prepare(environ: Mapping[str, str]) -> LocalConfig:
    """Read ``environ``, make the data directory and take it; raises :class:`ConfigError`."""
    api_port = _public_port(environ, "API_PORT", 8080)
    smtp_port = _public_port(environ, "SMTP_PORT", 2525)
    tls_ports = {
        name: _public_port(environ, name, 0, lowest=0)
        for name in ("API_TLS_PORT", "SMTP_TLS_PORT")
        if environ.get(name)
    }
    public_ports = {"API_PORT": api_port, "SMTP_PORT": smtp_port, **tls_ports}
    _require_different(public_ports)
    try:
        settings.load(environ)
        access = LocalAccess.read(environ)
        _require_port(environ.get("PUBLIC_URL", ""))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if (output := environ.get("LOG_OUTPUT") or "files") not in _LOG_OUTPUTS:
        raise ConfigError(f"LOG_OUTPUT={output!r} is neither files nor stdout")
    if (durability := environ.get("LOCAL_DURABILITY") or "second") not in _DURABILITIES:
        raise ConfigError(f"LOCAL_DURABILITY={durability!r} is neither second nor answer")
    data_dir = _data_dir(environ.get("DATA_DIR") or ".local")
    api_key = _checked_api_key(environ)
    lock = _take(data_dir)
    leftovers.end(data_dir / _PIDS_FILE)
    try:
        for name, port in public_ports.items():
            if port:
                _require_free(name, port)
        ports = choose_ports(data_dir, exclude=tuple(public_ports.values()))
        certificates.provide(data_dir, access.names)
        return LocalConfig(
            api_port=api_port,
            smtp_port=smtp_port,
            api_tls_port=tls_ports.get(
                "API_TLS_PORT", _usual_or(8443, ports.https, usual=api_port == 8080)
            ),
            smtp_tls_port=tls_ports.get(
                "SMTP_TLS_PORT", _usual_or(2465, ports.smtps, usual=smtp_port == 2525)
            ),
            api_key=api_key or _stored_api_key(data_dir / "api_key"),
            data_dir=data_dir,
            ports=ports,
            secret_key=_stored_secret_key(data_dir / "secret.key"),
            cloud_secret=draw_secret(data_dir),
            lock=lock,
            environ=dict(environ),
        )
    except ConfigError:
        os.close(lock)
        raise


def choose_ports(data_dir: Path, exclude: tuple[int, ...]) -> InternalPorts:
    """Keep the ports of the last run that are still free, choose the others, and store all."""
    path = data_dir / _PORTS_FILE
    earlier_ports = _earlier_ports(path)
    ports_by_name: dict[str, int] = {}
    for name in InternalPorts.__slots__:
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


def _public_port(environ: Mapping[str, str], name: str, default: int, lowest: int = 1) -> int:
    text = environ.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and lowest <= int(text) <= 65_535):
        raise ConfigError(f"{name}={text!r} is not a port number ({lowest} to 65535)")
    return int(text)


def _require_different(ports: Mapping[str, int]) -> None:
    for (name, port), (other, same) in combinations(ports.items(), 2):
        if port and port == same:
            raise ConfigError(f"{name} and {other} are both {port}: they must differ")


def _require_port(url: str) -> None:
    try:
        _ = urlsplit(url).port
    except ValueError:
        raise ConfigError(f"PUBLIC_URL={url!r} has no port number that can be") from None


def _usual_or(number: int, other: int, *, usual: bool) -> int:
    """Return the usual number of a port if it is to be used and free, or the other one."""
    return number if usual and is_free(number, socket.SOCK_STREAM) else other


def _require_free(name: str, port: int) -> None:
    if not is_free(port, socket.SOCK_STREAM):
        raise ConfigError(f"port {port} is taken or not allowed: set {name} to another one")


def _data_dir(text: str) -> Path:
    path = Path(text).expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"DATA_DIR={text!r} cannot be made: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(f"DATA_DIR={text!r} cannot be written to")
    return path


def _take(data_dir: Path) -> int:
    descriptor = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode() or "unknown"
        os.close(descriptor)
        raise ConfigError(
            f"{data_dir} is in use by another running instance (process {holder}): "
            "stop it, or set DATA_DIR to another directory"
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _checked_api_key(environ: Mapping[str, str]) -> str:
    key = environ.get("API_KEY", "")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError("API_KEY must be printable ASCII without spaces")
    return key


def _stored_api_key(path: Path) -> str:
    key = _kept(path, lambda: secrets.token_hex(20))
    if not key:
        raise ConfigError(f"{path} is empty: remove it, and the next start makes another key")
    return key


def _stored_secret_key(path: Path) -> str:
    key = _kept(path, lambda: base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode())
    try:
        is_complete = len(base64.b64decode(key, validate=True)) == _SECRET_BYTES
    except ValueError:
        is_complete = False
    if not is_complete:
        raise ConfigError(
            f"{path} is damaged: restore it from a copy, because what is stored is encrypted with "
            f"it, or move {path.parent} away to start without what is stored there"
        )
    return key


def _kept(path: Path, make: Callable[[], str]) -> str:
    """Return the text of ``path``, made and stored for the owner's eyes only when missing."""
    if not path.exists():
        replace_private(path, make())
    return path.read_text(errors="replace").strip()
