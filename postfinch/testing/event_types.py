"""Name the types of events that a service has, so that a test cannot wait for another one."""

from __future__ import annotations

from functools import lru_cache

from postfinch.http_api import Api


def event_types(api: Api) -> tuple[str, ...]:
    """Return the types in alphabetical order; a service is asked once."""
    return _event_types(api.url, api.key)


@lru_cache
def _event_types(url: str, key: str) -> tuple[str, ...]:
    groups = Api(url, key).get("/webhooks/events/documentation")
    return tuple(sorted(name for group in groups.values() for name in group["events"]))


def require_type(api: Api, type: str) -> None:
    """Raise ValueError if there are no events of this type."""
    types = event_types(api)
    if type not in types:
        raise ValueError(f"there are no events of type {type!r}; there are {', '.join(types)}")
