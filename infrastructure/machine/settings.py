"""Read the settings that only production on one machine has, beside those of the service.

They come from the environment, as those of :mod:`chalicelib.core.settings` do, and the
configuration file has both kinds. ``python -m infrastructure.machine.settings`` prints the table of
the documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.core import setting_values as values
from chalicelib.core.setting_values import Allowed, choices
from chalicelib.core.settings import load_as, setting, table_of

#: The directory of Let's Encrypt
LETS_ENCRYPT = "https://acme-v02.api.letsencrypt.org/directory"
DATA_DIR = "/var/lib/postfinch"

_FILE = values.TEXT.or_empty()

ACME, FILES, OFF = "acme", "files", "off"
#: How mail leaves, by the setting TRANSPORT
MX, SMTP, SES = "mx", "smtp", "ses"


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """The settings, typed. Ports are 0 where nothing is to listen."""

    data_dir: str = setting(DATA_DIR, "Folder of all data", values.TEXT)
    admin_email: str = setting(
        "",
        "Address of the administrator, for alarms and for the certificate authority. Empty: no "
        "alarms by mail",
        Allowed(r"[^@\s]+@[^@\s]+", "an email address").or_empty(),
    )
    api_key: str = setting(
        "",
        "Key of the first account, stored at the first start. Empty: one is made and shown once",
        Allowed("[!-~]*", "printable ASCII without spaces"),
        secret=True,
    )

    # Certificates
    tls: str = setting(
        ACME,
        "Where the certificates come from: `acme` (from a certificate authority, by themselves), "
        "`files` (`TLS_CERTIFICATE` and `TLS_KEY`) or `off` (HTTP in the clear, for a proxy before "
        "it; the mail ports use a certificate that is made here)",
        choices(ACME, FILES, OFF),
    )
    tls_certificate: str = setting(
        "", "PEM file with the certificate and its chain (`TLS=files`)", _FILE
    )
    tls_key: str = setting("", "PEM file with the key of `TLS_CERTIFICATE`", _FILE)
    acme_directory: str = setting(
        LETS_ENCRYPT,
        "Directory of the certificate authority (RFC 8555)",
        Allowed(r"https://\S+", "a URL with https"),
    )
    acme_ca: str = setting(
        "",
        "PEM file with the authority of `ACME_DIRECTORY` itself. Empty: those of the system",
        _FILE,
    )

    # Ports
    listen_address: str = setting(
        "",
        "Address that all ports are bound to. Empty: every address of the machine",
        values.HOST_OR_ADDRESS.or_empty(),
    )
    http_port: int = setting(
        80,
        "Port for HTTP: certificates, plain tracking links, the way to TLS",
        values.PORT_OR_0,
    )
    https_port: int = setting(443, "Port of the API and the console", values.PORT_OR_0)
    submission_port: int = setting(
        587, "Port at which programs send mail, with STARTTLS", values.PORT_OR_0
    )
    submissions_port: int = setting(
        465, "The same under TLS from the first byte on", values.PORT_OR_0
    )
    inbound_port: int = setting(
        25, "Port for bounces, complaints and other mail that comes in", values.PORT_OR_0
    )
    trusted_proxies: str = setting(
        "",
        "Addresses or networks of your own proxies, comma-separated. Only their `X-Forwarded-For`, "
        "`-Host` and `-Proto` count",
        Allowed("[0-9A-Fa-f.:/, ]*", "addresses or networks, comma-separated, or empty"),
    )

    # Watching
    metrics_token: str = setting(
        "",
        "Token with which Prometheus reads `GET /metrics` (`Authorization: Bearer`). Empty: nobody "
        "can",
        Allowed("[!-~]*", "printable ASCII without spaces"),
        secret=True,
    )

    # Backups
    backup_dir: str = setting("", "Folder for scheduled backups. Empty: none are made", _FILE)
    backup_every: float = setting(
        24.0, "Hours between two scheduled backups", values.NUMBER_ABOVE_0
    )
    backup_keep: int = setting(7, "How many scheduled backups are kept", values.COUNT_FROM_1)
    backup_passphrase: str = setting(
        "",
        "Passphrase that encrypts the secrets in backups. Empty: they are in the clear",
        values.TEXT.or_empty(),
        secret=True,
    )

    # Processes
    worker_processes: int = setting(
        0,
        "Processes that generate and record. 0: one for every two processor cores",
        values.COUNT,
    )


def load(environ: Mapping[str, str]) -> MachineSettings:
    """Read the settings from ``environ``; raises ``ValueError`` with one line for the user."""
    return load_as(MachineSettings, environ)


if __name__ == "__main__":
    print(table_of(MachineSettings))
