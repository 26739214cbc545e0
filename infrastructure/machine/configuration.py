"""Decide what production on one machine runs with, from the configuration file and the environment.

The values are those of a deployed stage, not those of the local runtime. What differs from a stage
is in :func:`_machine_values`: where the machine itself makes the difference.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from chalicelib.core import setting_conflicts
from chalicelib.core import settings as service_settings
from chalicelib.core.process_group import usable_cores
from chalicelib.core.settings import MIB, Settings
from infrastructure.local import notices
from infrastructure.local.supervisor import leftovers
from infrastructure.local.supervisor.cloud_access import aws_environment, draw_secret
from infrastructure.local.supervisor.data_folder import (
    ConfigError,
    kept,
    open_folder,
    stored_secret_key,
    take,
)
from infrastructure.local.supervisor.ports import InternalPorts, choose_ports, require_different
from infrastructure.local.supervisor.private_files import replace_private
from infrastructure.machine import config_file, listening, settings
from infrastructure.machine.certificates import service_certificate
from infrastructure.machine.edge.proxies import TrustedProxies
from infrastructure.machine.settings import FILES, MX, OFF, SMTP, MachineSettings
from relay.tls import CertificateFiles, TlsContexts

STAGE = "machine"
#: The settings of the running service, for tools beside it
SETTINGS_FILE = "settings.json"
_API_KEY_FILE = "api_key"
_PIDS_FILE = "processes.json"
_TEMPORARY_FOLDER = "tmp"
_LOOPBACK = "127.0.0.1"
_USUAL_HTTPS_PORT = 443
_USUAL_HTTP_PORT = 80
#: The credentials of Amazon SES in the environment of the caller, and the settings that take them
_SES = {
    "AWS_ACCESS_KEY_ID": "SES_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY": "SES_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN": "SES_SESSION_TOKEN",
    "AWS_DEFAULT_REGION": "SES_REGION",
    "AWS_REGION": "SES_REGION",
    "AWS_ENDPOINT_URL_SESV2": "SES_ENDPOINT",
}


@dataclass(frozen=True, slots=True)
class MachineConfig:
    """One service on one machine; ``lock`` holds the data folder as long as it is open.

    ``new_api_key`` says that the key of the first account was made now, and is to be shown.
    """

    machine: MachineSettings
    service: Settings
    data_dir: Path
    ports: InternalPorts
    api_key: str
    new_api_key: bool
    cloud_secret: str
    lock: int
    environ: Mapping[str, str]

    @property
    def pids(self) -> Path:
        """Return the file with the ids of the running processes."""
        return self.data_dir / _PIDS_FILE

    @property
    def logs(self) -> Path:
        """Return the directory of the processes' output, which is empty: they log to one place."""
        return self.data_dir / "logs"

    @property
    def workers(self) -> int:
        """Return how many processes generate and record."""
        return self.machine.worker_processes or max(1, usable_cores() // 2)

    def child_environment(self) -> dict[str, str]:
        """Return the environment of every process of the service."""
        return {
            **self.environ,
            **aws_environment(self.ports.cloud_url, self.cloud_secret),
            "API_KEY": self.api_key,
            "DATA_DIR": str(self.data_dir),
            "LOCAL_DURABILITY": "answer",
            "PYTHONUNBUFFERED": "1",
            # In a folder that all users share, another one could make what ours need
            "TMPDIR": str(self.data_dir / _TEMPORARY_FOLDER),
            notices.VARIABLE: str(self.pids.with_name(notices.PIPE)),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), self._no_proxy()),
        }

    def _no_proxy(self) -> str:
        theirs = self.environ.get("NO_PROXY") or self.environ.get("no_proxy")
        return ",".join(filter(None, (theirs, _LOOPBACK, "localhost")))


def prepare(environ: Mapping[str, str]) -> MachineConfig:
    """Read everything, make the data folder and take it; raises :class:`ConfigError`."""
    values = read(environ)
    machine, service = load(values)
    require_different(public_ports(machine))
    data_dir = open_folder(machine.data_dir)
    lock = take(data_dir)
    try:
        leftovers.end(data_dir / _PIDS_FILE)
        for name, port in public_ports(machine).items():
            listening.require_bindable(name, machine.listen_address, port)
        _make_empty(data_dir / _TEMPORARY_FOLDER)
        ports = choose_ports(data_dir, exclude=tuple(public_ports(machine).values()))
        is_first_start = not (data_dir / _API_KEY_FILE).exists()
        api_key = machine.api_key or kept(data_dir / _API_KEY_FILE, _draw_key)
        values |= {"SECRET_KEY": values.get("SECRET_KEY") or _secret_key(data_dir)}
        values |= _folder_values(machine, service, data_dir)
        values |= {"RELAY_METRICS_PORT": str(ports.relay_metrics)}
        _store_settings(data_dir, values)
        return MachineConfig(
            machine=machine,
            service=service_settings.load(values),
            data_dir=data_dir,
            ports=ports,
            api_key=api_key,
            new_api_key=is_first_start and not machine.api_key,
            cloud_secret=draw_secret(data_dir),
            lock=lock,
            environ=values,
        )
    except ConfigError:
        os.close(lock)
        raise


def read(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the service, without what depends on its folder.

    The AWS variables of the caller are the credentials of Amazon SES, and nothing else's.
    """
    caller = config_file.environment(environ)
    ses = {ours: caller[theirs] for theirs, ours in _SES.items() if caller.get(theirs)}
    values = {name: text for name, text in caller.items() if not name.startswith("AWS_")}
    machine = _loaded(values)
    return {**_machine_values(machine, values), **ses, **values}


def load(values: Mapping[str, str]) -> tuple[MachineSettings, Settings]:
    """Return the settings of an environment that :func:`read` returned.

    Raises :class:`ConfigError` for a value or a contradiction that cannot work.
    """
    machine = _loaded(values)
    default = Settings().system_domain
    # First, because other settings follow from these
    if values.get("SYSTEM_DOMAIN", default) in ("", default):
        raise ConfigError(
            "SYSTEM_DOMAIN is not set: it is the service's own mail domain, such as "
            "mail.example.com (`postfinch setup` asks for it)"
        )
    if machine.tls == FILES and not (machine.tls_certificate and machine.tls_key):
        raise ConfigError("TLS=files needs TLS_CERTIFICATE and TLS_KEY")
    if machine.tls != OFF and not machine.https_port:
        raise ConfigError("HTTPS_PORT is 0: with TLS=off the API is on HTTP_PORT")
    try:
        service = service_settings.load(values)
        setting_conflicts.check_files(service)
        TrustedProxies.read(machine.trusted_proxies)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return machine, service


def _loaded(values: Mapping[str, str]) -> MachineSettings:
    try:
        return settings.load(values)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _machine_values(machine: MachineSettings, values: Mapping[str, str]) -> dict[str, str]:
    """Return the values that one machine has in place of the defaults of a stage."""
    domain = values.get("SYSTEM_DOMAIN", "")
    return {
        "STAGE": STAGE,
        "PUBLIC_URL": _public_url(machine, domain),
        "MAIL_HOSTNAME": domain,
        "LOG_FORMAT": "json",
        "CLOUDWATCH_METRICS": "false",
        # Nobody comes between: requests and answers may be as large as messages are
        "MAX_BODY_BYTES": str(50 * MIB),
        "MAX_REPLY_BYTES": str(50 * MIB),
        # The certificate of a tracking domain comes after its verification
        "TRACKING_FETCH": "plain",
        "TRACKING_PORT": str(machine.http_port or _USUAL_HTTP_PORT),
        "TRANSPORT": SMTP if values.get("SMARTHOST") else MX,
        "DELIVERY": "container",
        # Held by a process that renews it all the time: a killed one's mail goes on soon
        "DELIVERY_LEASE": "60",
        "RELAY_HOST": machine.listen_address or listening.every_address(),
        "RELAY_PORTS": _port_text(machine.submission_port),
        "RELAY_TLS_PORTS": _port_text(machine.submissions_port),
        "RELAY_INBOUND_PORTS": _port_text(machine.inbound_port),
        "RELAY_PROCESSES": "1",
        "RELAY_METRICS_HOST": _LOOPBACK,
        "SCHEDULE_SECONDS": "10",
    }


def _folder_values(machine: MachineSettings, service: Settings, data_dir: Path) -> dict[str, str]:
    certificate = _certificate(machine, service, data_dir)
    return {
        "DELIVERY_JOURNAL": str(data_dir / "journal"),
        "RELAY_CERTIFICATE": str(certificate.certificate),
        "RELAY_KEY": str(certificate.key),
    }


def _certificate(machine: MachineSettings, service: Settings, data_dir: Path) -> CertificateFiles:
    """Return the certificate of the service's own names; raises :class:`ConfigError`."""
    files = own_files(machine)
    if files is None:
        return service_certificate.provide(data_dir, service_names(service))
    try:
        TlsContexts(files)
    except OSError as error:  # of which those of TLS are a kind
        raise ConfigError(f"TLS_CERTIFICATE and TLS_KEY cannot be used: {error}") from None
    return files


def own_files(machine: MachineSettings) -> CertificateFiles | None:
    """Return the operator's own certificate, or ``None``."""
    if machine.tls != FILES:
        return None
    return CertificateFiles(Path(machine.tls_certificate), Path(machine.tls_key))


def service_names(service: Settings) -> list[str]:
    """Return the names for which the service has a certificate."""
    host = urlsplit(service.public_url).hostname or service.mail_hostname
    return list(dict.fromkeys([host, service.mail_hostname]))


def stored_settings(data_dir: Path) -> dict[str, str]:
    """Return the settings with which the service of a folder was last started; none: not one."""
    try:
        values = json.loads((data_dir / SETTINGS_FILE).read_text())
    except FileNotFoundError:
        return {}
    return {str(name): str(text) for name, text in values.items()}


def _store_settings(data_dir: Path, values: Mapping[str, str]) -> None:
    names = {name.upper() for name in config_file.NAMES}
    text = json.dumps({name: text for name, text in values.items() if name in names}, indent=1)
    replace_private(data_dir / SETTINGS_FILE, text)


def _public_url(machine: MachineSettings, domain: str) -> str:
    if machine.tls != OFF:
        port, usual = machine.https_port, _USUAL_HTTPS_PORT
        return f"https://{domain}" + (f":{port}" if port != usual else "")
    if machine.trusted_proxies:
        return f"https://{domain}"
    port = machine.http_port
    return f"http://{domain}" + (f":{port}" if port != _USUAL_HTTP_PORT else "")


def public_ports(machine: MachineSettings) -> dict[str, int]:
    """Return the ports that others reach, by their settings; 0 is none."""
    return {
        "HTTP_PORT": machine.http_port,
        **({} if machine.tls == OFF else {"HTTPS_PORT": machine.https_port}),
        "SUBMISSION_PORT": machine.submission_port,
        "SUBMISSIONS_PORT": machine.submissions_port,
        "INBOUND_PORT": machine.inbound_port,
    }


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def _port_text(port: int) -> str:
    return str(port) if port else ""


def _draw_key() -> str:
    return os.urandom(20).hex()


def _secret_key(data_dir: Path) -> str:
    return stored_secret_key(data_dir / "secret.key")
