"""Set the limits of the catching port: those that no test of an application comes near."""

from __future__ import annotations

from infrastructure.local.this_machine import LocalAccess
from relay.config import RelayConfig

_MIB = 1024 * 1024
#: A message, as Mailpit takes it
MOST_OCTETS = 50 * _MIB


def catching_config(
    host: str,
    port: int,
    access: LocalAccess,
    most_octets: int = MOST_OCTETS,
    *,
    lists_tls: bool = False,
) -> RelayConfig:
    """Return the settings of a relay that takes mail from anyone whom ``access`` admits.

    STARTTLS is listed on request only: Nodemailer, Symfony Mailer, PHPMailer and Ruby's Net::SMTP
    use it by default wherever it is listed, and then refuse a certificate that they do not trust.
    """
    return RelayConfig(
        hostname="localhost",
        host=host,
        ports=(port,),
        require_tls=False,
        lists_tls=lists_tls,
        lenient=True,
        admits_peer=access.admits_peer,
        max_message=most_octets,
        max_text_line=None,
        max_in_memory=4 * _MIB,
        max_command_line=8192,
        max_recipients=10_000,
        max_messages=1_000_000,
        max_errors=1_000,
        max_connections_per_address=1_000,
        failed_login_seconds=0.1,
        max_failed_login_seconds=1.0,
        idle_seconds=300.0,
        drain_seconds=5.0,
        workers=4,
    )
