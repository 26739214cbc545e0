"""Decide which limits are in force for a group: the operator's, those of its provider, or defaults.

Connections count for one source address, and a source address belongs to one host. The processes of
a delivery container divide them, or share them if they are fewer than the processes.
"""

from __future__ import annotations

from functools import cache

from chalicelib.core.process_group import usable_cores
from chalicelib.core.settings import settings
from chalicelib.delivery.shaping import store
from chalicelib.delivery.shaping.providers import Limits, providers
from chalicelib.delivery.transports.session_pool import Sharing


def limits_of(group: str) -> Limits:
    """Return the limits of a group. It makes no request while the operator's are cached."""
    return store.cached_overrides().get(group) or providers().limits.get(group) or default_limits()


def default_limits() -> Limits:
    """Return the limits of a group that neither the operator nor the data file names."""
    current = settings()
    processes = _processes()
    return Limits(current.delivery_domain_connections * processes, 1_000)


def connections_of(path: str) -> int:
    """Return how many connections of a path this process may have at a time."""
    return max(1, _of_host(path) // _processes())


def sharing_of(path: str) -> Sharing | None:
    """Return how the processes share the connections of a path; ``None`` if each has its own."""
    connections, processes = _of_host(path), _processes()
    return Sharing(connections, processes) if connections < processes else None


def _of_host(path: str) -> int:
    group, _ = store.group_of_path(path)
    return limits_of(group).connections


def _processes() -> int:
    current = settings()
    # A container with a name may serve a stage whose other mail the function delivers
    if current.delivery != "container" and not current.delivery_container:
        return 1
    return current.delivery_processes or _cores()


@cache
def _cores() -> int:
    # Asked for each message, and the container's quota is in a file
    return usable_cores()
