"""Plan which messages of a batch leave here and now, by which route and at what time.

- A message whose sending IP is at the host of another delivery container leaves there: the rest of
  its unit is queued for that container, with the sending IP that was chosen. So the volume of an IP
  that warms up is counted once.
- A message that the limits of its provider hold back leaves later, in the rest of its unit, also
  with the sending IP that was chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chalicelib.core import clock
from chalicelib.core.addresses import domain_of
from chalicelib.core.scope import SYSTEM_ACCOUNT
from chalicelib.delivery import delivery_queues
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.route import is_direct, routes_of
from chalicelib.delivery.shaping import store
from chalicelib.delivery.shaping.groups import groups_of
from chalicelib.delivery.shaping.limits import limits_of
from chalicelib.delivery.shaping.pacing import Lane
from chalicelib.delivery.shaping.shaper import PathHold, shaper
from chalicelib.delivery.tls_reports import report
from chalicelib.fleet.routing import Route

_RoutedMessage = tuple[FinishedMessage, Route]


@dataclass(frozen=True, slots=True)
class Departure:
    """A message that leaves here by ``route``, not before ``at`` (``clock.monotonic``).

    ``path`` is that of traffic shaping, and ``hosts`` are the recipient's mail hosts; both are
    empty where mail does not leave for the recipient's host. ``is_tls_report`` says that it carries
    a TLS report of this service.
    """

    message: FinishedMessage
    route: Route
    path: str = ""
    hosts: str = ""
    at: float = 0.0
    messages_per_connection: int | None = None
    is_tls_report: bool = False

    @property
    def destination(self) -> str:
        """Return what shares a number of connections: the path, or else the domain."""
        return self.path or domain_of(self.message.recipient)


@dataclass(frozen=True, slots=True)
class Departures:
    """The messages of a unit that leave here, the routes of others, and why others must wait.

    Those that do not leave are named by recipient index, and so are the ``sending_ips`` that were
    chosen, of all messages that have one. The plan was made at ``at_ms``.
    """

    here: Sequence[Departure] = ()
    elsewhere: dict[int, Route] = field(default_factory=dict)
    holds: dict[int, PathHold] = field(default_factory=dict)
    at_ms: int = 0
    sending_ips: dict[int, str] = field(default_factory=dict)

    @property
    def next_container(self) -> str | None:
        """Return a container that sends some of the messages; ``None`` if none does."""
        return next((route.container for route in self.elsewhere.values()), None)

    @property
    def seconds(self) -> float:
        """Return after how long the first of the messages that wait is tried again."""
        return min((hold.seconds for hold in self.holds.values()), default=0.0)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of the messages that wait for long."""
        return tuple(sorted({hold.path for hold in self.holds.values() if hold.lasts}))


def plan(batch: DeliveryBatch, messages: Sequence[FinishedMessage]) -> Departures:
    """Choose the routes and times of messages of the batch."""
    here: list[Departure] = []
    direct: list[_RoutedMessage] = []
    elsewhere: dict[int, Route] = {}
    sending_ips: dict[int, str] = {}
    for message, route in zip(messages, routes_of(batch, messages), strict=True):
        if route.sending_ip:
            sending_ips[message.index] = route.sending_ip
        if not delivery_queues.is_reached_here(route.container):
            elsewhere[message.index] = route
        elif is_direct(route):
            direct.append((message, route))
        else:
            here.append(Departure(message, route))
    shaped, holds = _shape(batch, direct)
    here += shaped
    return Departures(here, elsewhere, holds, clock.now_ms(), sending_ips)


def _shape(
    batch: DeliveryBatch, messages: Sequence[_RoutedMessage]
) -> tuple[list[Departure], dict[int, PathHold]]:
    """Ask for the times of messages that leave for their recipients' hosts."""
    lane = Lane(str(batch.account_id), batch.unit.transmission_id)
    shaped: list[Departure] = []
    holds: dict[int, PathHold] = {}
    for path, each in _by_path(messages).items():
        grant = shaper().ask(path, lane, len(each), small=batch.is_small)
        group, _ = store.group_of_path(path)
        most = limits_of(group).messages_per_connection
        for (message, route, hosts), at in zip(each, grant.times, strict=False):
            is_report = batch.account_id == SYSTEM_ACCOUNT and report.is_carried_by(message.data)
            shaped.append(Departure(message, route, path, hosts, at, most, is_report))
        if grant.hold:
            holds |= {message.index: grant.hold for message, _, _ in each[len(grant.times) :]}
    return shaped, _of_one_unit(holds)


def _of_one_unit(holds: dict[int, PathHold]) -> dict[int, PathHold]:
    """Let all holds last if one does.

    The unit waits for the paths that its events name. A path that is left out would wait
    for the others, however soon it is free.
    """
    if len({hold.lasts for hold in holds.values()}) < 2:
        return holds
    return {index: replace(hold, lasts=True) for index, hold in holds.items()}


def _by_path(
    messages: Sequence[_RoutedMessage],
) -> dict[str, list[tuple[FinishedMessage, Route, str]]]:
    """Return the messages of each path, with their routes and the recipients' mail hosts."""
    groups = groups_of({domain_of(message.recipient) for message, _ in messages})
    paths: defaultdict[str, list[tuple[FinishedMessage, Route, str]]] = defaultdict(list)
    for message, route in messages:
        group = groups[domain_of(message.recipient)]
        path = store.path_of(group.name, route.source_address)
        paths[path].append((message, route, group.hosts))
    return paths
