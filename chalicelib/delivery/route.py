"""Which way mail leaves: by the sending IP of its pool, else by the transport of the settings.

A transport is made once per process and for each smarthost or SES pool that a route names; local
address and EHLO name go with each message.
"""

from __future__ import annotations

from functools import cache

from chalicelib.core import clock
from chalicelib.core.settings import Settings, settings
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.transports import Transport
from chalicelib.delivery.transports.session_pool import PoolLimits
from chalicelib.delivery.transports.smtp_options import (
    Credentials,
    SessionOptions,
    Timeouts,
    TlsMode,
)
from chalicelib.fleet import routing
from chalicelib.fleet.routing import Route

SMTP_PORT = 25


def routes_of(batch: DeliveryBatch, count: int) -> list[Route]:
    """Return the routes of ``count`` messages of a batch, one for each."""
    account_id, pool_id = int(batch.event["customer_id"]), batch.event["ip_pool"]
    return routing.choose(account_id, pool_id, clock.now(), count, key=batch.unit.origin)


def transport(route: Route) -> Transport:
    """Return the transport of a route; raises ``ValueError`` for a setting that names none."""
    return _made(route.smarthost, route.ses_pool)


@cache
def _made(smarthost: str, ses_pool: str) -> Transport:
    given = settings()
    if smarthost:
        return _smarthost(given, smarthost)
    if ses_pool:
        return _ses(ses_pool)
    if given.transport == "smtp":
        return _smarthost(given, given.smarthost)
    if given.transport == "mx":
        return _direct(given)
    if given.transport == "ses":
        return _ses()
    raise ValueError(f"TRANSPORT={given.transport!r} is not smtp, mx or ses")


def _smarthost(given: Settings, address: str) -> Transport:
    from chalicelib.delivery.transports.smarthost import SmarthostTransport

    host, port = _host_and_port(address)
    credentials = (
        Credentials(given.smarthost_username, given.smarthost_password)
        if given.smarthost_username
        else None
    )
    tls = TlsMode(given.smarthost_tls)
    options = SessionOptions(
        tls=tls,
        verify=tls is TlsMode.REQUIRED,
        credentials=credentials,
        timeouts=_timeouts(given),
    )
    limits = PoolLimits(connections=given.delivery_connections)
    return SmarthostTransport(host, port, options, limits, given.mail_hostname)


def _host_and_port(address: str) -> tuple[str, int]:
    """Read ``host``, ``host:587``, ``[2001:db8::1]``, ``[2001:db8::1]:587`` or ``2001:db8::1``."""
    if not address.startswith("[") and address.count(":") > 1:
        return address, SMTP_PORT
    host, _, port = address.removeprefix("[").partition("]:" if "]" in address else ":")
    return host.removesuffix("]"), int(port or SMTP_PORT)


def _direct(given: Settings) -> Transport:
    from dns.resolver import LRUCache

    from chalicelib.core import dns
    from chalicelib.delivery.transports.mx import MxTransport

    options = SessionOptions(timeouts=_timeouts(given))
    limits = PoolLimits(connections=given.delivery_domain_connections)
    resolver = dns.new_resolver()
    resolver.cache = LRUCache()
    return MxTransport(
        resolver,
        options,
        limits,
        given.mail_hostname,
        allow_private=given.allow_private_addresses,
    )


def _timeouts(given: Settings) -> Timeouts:
    return Timeouts(
        connect=given.smtp_connect_timeout,
        command=given.smtp_command_timeout,
        data=given.smtp_final_timeout,
        final=given.smtp_final_timeout,
    )


def _ses(configuration_set: str = "") -> Transport:
    import boto3
    from botocore.config import Config

    from chalicelib.delivery.transports.ses import SesTransport

    # An attempt that is repeated after a lost answer would send the message twice
    once = Config(retries={"total_max_attempts": 1})
    return SesTransport(boto3.client("sesv2", config=once), configuration_set)
