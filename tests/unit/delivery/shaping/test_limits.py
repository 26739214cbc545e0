"""Test which limits are in force."""

from __future__ import annotations

import pytest

from chalicelib.core.settings import settings
from chalicelib.delivery.shaping import limits, store
from chalicelib.delivery.shaping.providers import Limits
from chalicelib.delivery.transports.session_pool import Sharing

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.mark.parametrize(
    ("delivery", "container", "processes", "connections"),
    [
        ("function", "", "4", 10),
        ("function", "east", "4", 2),
        ("container", "", "1", 10),
        ("container", "", "4", 2),
        ("container", "", "20", 1),
    ],
)
def test_the_processes_of_a_container_share_connections(
    monkeypatch: pytest.MonkeyPatch,
    delivery: str,
    container: str,
    processes: str,
    connections: int,
) -> None:
    monkeypatch.setenv("DELIVERY", delivery)
    monkeypatch.setenv("DELIVERY_CONTAINER", container)
    monkeypatch.setenv("DELIVERY_PROCESSES", processes)
    settings.cache_clear()
    store.change_overrides(lambda before: before | {"example.net": Limits(10, 50)})
    assert limits.connections_of(store.path_of("example.net", None)) == connections


@pytest.mark.parametrize(
    ("processes", "sharing"),
    [("1", None), ("4", None), ("5", Sharing(4, 5)), ("8", Sharing(4, 8))],
)
def test_processes_share_connections_that_are_fewer_than_they_are(
    monkeypatch: pytest.MonkeyPatch, processes: str, sharing: Sharing | None
) -> None:
    monkeypatch.setenv("DELIVERY", "container")
    monkeypatch.setenv("DELIVERY_PROCESSES", processes)
    settings.cache_clear()
    store.change_overrides(lambda before: before | {"example.net": Limits(4, 50)})
    path = store.path_of("example.net", None)
    assert limits.sharing_of(path) == sharing
    assert limits.sharing_of(store.path_of("unknown.test", None)) is None


def test_a_group_without_limits_has_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELIVERY_DOMAIN_CONNECTIONS", "3")
    settings.cache_clear()
    assert limits.limits_of("unknown.test").connections == 3
    assert limits.limits_of("unknown.test").rate == 0
