"""Choose how mail leaves: by the sending IPs of its pool, or else by the settings' transport.

A process makes one transport for each smarthost or SES pool that a route names. The local address
and the EHLO name go with each message.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from chalicelib.core import clock
from chalicelib.core.host_and_port import read_host_and_port
from chalicelib.core.settings import Settings, settings
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.tls_reports.counting import session_counts
from chalicelib.delivery.transports import Transport
from chalicelib.delivery.transports.closed_pool import ClosedPool
from chalicelib.delivery.transports.kept_mail import KeptMail
from chalicelib.delivery.transports.session_pool import PoolLimits
from chalicelib.delivery.transports.smtp_opening import Credentials, SessionOptions, TlsMode
from chalicelib.delivery.transports.smtp_wire import Timeouts
from chalicelib.fleet import routing
from chalicelib.fleet.routing import Route

SMTP_PORT = 25

_FLUSH_SECONDS = 5.0

_transports: list[Transport] = []


def routes_of(batch: DeliveryBatch, messages: Sequence[FinishedMessage]) -> list[Route]:
    """Return the routes of messages of a batch, one for each.

    A sending IP that was chosen before is used again while the account has it.
    """
    pool = batch.account_id, batch.event["ip_pool"]
    before = [routing.by_ip(*pool, m.sending_ip) if m.sending_ip else None for m in messages]
    count = before.count(None)
    routes = iter(routing.choose(*pool, clock.now(), count, key=batch.unit.origin))
    return [route or next(routes) for route in before]


def first_container(batch: DeliveryBatch) -> str:
    """Return the delivery container that a new batch is queued for."""
    return routing.first_container(batch.account_id, batch.event["ip_pool"], key=batch.unit.origin)


def transport(route: Route) -> Transport:
    """Return the transport of a route."""
    if route.closed:
        return ClosedPool(route.pool_id)
    return _transport(route.smarthost, route.ses_pool)


def is_direct(route: Route) -> bool:
    """Tell whether mail leaves by a route for the recipients' own mail hosts."""
    if route.closed:
        return False
    return settings().transport == "mx" and not (route.smarthost or route.ses_pool)


def close_transports() -> None:
    """Close the idle connections of this process, each with QUIT, and store what was counted."""
    for each in _transports:
        each.close()
    session_counts.flush(within=_FLUSH_SECONDS)
    _transports.clear()
    _transport.cache_clear()


@cache
def _transport(smarthost: str, ses_pool: str) -> Transport:
    new = _make_transport(smarthost, ses_pool)
    _transports.append(new)
    return new


def _make_transport(smarthost: str, ses_pool: str) -> Transport:
    current = settings()
    if smarthost:
        return _smarthost(current, smarthost)
    if ses_pool or current.transport == "ses":
        return _ses(ses_pool) if current.deliver else KeptMail("Amazon SES")
    if current.transport == "mx":
        return _mx(current)
    return _smarthost(current, current.smarthost)


def _smarthost(current: Settings, address: str) -> Transport:
    from chalicelib.delivery.transports.smarthost import SmarthostTransport

    host, port = read_host_and_port(address, SMTP_PORT)
    options = smarthost_options(current)
    limits = PoolLimits(connections=current.delivery_connections)
    return SmarthostTransport(host, port, options, limits, current.mail_hostname)


def smarthost_options(current: Settings) -> SessionOptions:
    """Return how a session with a smarthost is opened, by its settings."""
    credentials = (
        Credentials(current.smarthost_username, current.smarthost_password)
        if current.smarthost_username
        else None
    )
    tls = TlsMode(current.smarthost_tls)
    return SessionOptions(
        tls=tls,
        verify=tls is TlsMode.REQUIRED,
        credentials=credentials,
        timeouts=_timeouts(current),
        loopback_only=not current.deliver,
    )


def _mx(current: Settings) -> Transport:
    from dns.resolver import LRUCache

    from chalicelib.core import dns
    from chalicelib.delivery.dane.lookup import Dane, validating
    from chalicelib.delivery.mta_sts.service import policy_of
    from chalicelib.delivery.shaping.limits import connections_of, sharing_of
    from chalicelib.delivery.transports.mx import MxTransport, ignore, no_policy, no_records

    options = SessionOptions(timeouts=_timeouts(current), loopback_only=not current.deliver)
    limits = PoolLimits(connections=connections_of, sharing=sharing_of)
    resolver = dns.new_resolver()
    resolver.cache = LRUCache()
    records_of = Dane(validating(resolver), current.mx_port).of if current.dane else no_records
    return MxTransport(
        resolver,
        options,
        limits,
        current.mail_hostname,
        port=current.mx_port,
        allow_private=current.allow_private_addresses,
        policy_of=policy_of if current.mta_sts else no_policy,
        records_of=records_of,
        observe=session_counts.count if current.tls_reports else ignore,
    )


def _timeouts(current: Settings) -> Timeouts:
    return Timeouts(
        connect=current.smtp_connect_timeout,
        command=current.smtp_command_timeout,
        data=current.smtp_final_timeout,
        final=current.smtp_final_timeout,
    )


def _ses(configuration_set: str) -> Transport:
    from chalicelib.core import ses
    from chalicelib.delivery.transports.ses import SesTransport

    current = settings()
    if configuration_set:  # one of the operator's, whose notifications go where they say
        return SesTransport(ses.client(current), configuration_set)
    own = current.ses_configuration_set
    return SesTransport(ses.client(current), own, notifies=bool(own))
