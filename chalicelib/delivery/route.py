"""Which way mail leaves: the transport that the settings name, made once per process."""

from __future__ import annotations

from functools import cache

from chalicelib.core.settings import Settings, settings
from chalicelib.delivery.transports import Transport
from chalicelib.delivery.transports.session_pool import PoolLimits
from chalicelib.delivery.transports.smtp_options import Credentials, SessionOptions, TlsMode

SMTP_PORT = 25


@cache
def transport() -> Transport:
    """Return this process's transport; raises ``ValueError`` for a setting that names none."""
    given = settings()
    if given.transport == "smtp":
        return _smarthost(given)
    if given.transport == "mx":
        return _direct(given)
    if given.transport == "ses":
        return _ses()
    raise ValueError(f"TRANSPORT={given.transport!r} is not smtp, mx or ses")


def _smarthost(given: Settings) -> Transport:
    from chalicelib.delivery.transports.smarthost import SmarthostTransport

    host, _, port = given.smarthost.partition(":")
    credentials = (
        Credentials(given.smarthost_username, given.smarthost_password)
        if given.smarthost_username
        else None
    )
    tls = TlsMode(given.smarthost_tls)
    options = SessionOptions(tls=tls, verify=tls is TlsMode.REQUIRED, credentials=credentials)
    limits = PoolLimits(connections=given.delivery_connections)
    return SmarthostTransport(host, int(port or SMTP_PORT), options, limits, given.mail_hostname)


def _direct(given: Settings) -> Transport:
    import dns.resolver

    from chalicelib.delivery.transports.mx import MxTransport

    limits = PoolLimits(connections=given.delivery_connections)
    return MxTransport(dns.resolver.Resolver(), None, limits, given.mail_hostname)


def _ses() -> Transport:
    import boto3

    from chalicelib.delivery.transports.ses import SesTransport

    return SesTransport(boto3.client("sesv2"))
