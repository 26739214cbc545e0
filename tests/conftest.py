"""Provide tests with a cloud in this process, with the service's tables, queues and bucket."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.environment import IN_PROCESS_CLOUD

os.environ.update(IN_PROCESS_CLOUD)
os.environ.pop("AWS_ENDPOINT_URL", None)

import hypothesis
import pytest
from moto import mock_aws
from xdist.scheduler import LoadFileScheduling

from chalicelib.core.caches import clear_caches
from tests.fake_cloud import provide_resources
from tests.rerun import STATUS_KEY

# Of what a shell runs in its background, nothing would end with Ctrl-C
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The collector of garbage would go through all tests, again and again, while they are collected
gc.disable()

pytest_plugins = ("postfinch.pytest_plugin",)

# Other load may slow a machine down, so examples have no deadline. In CI the examples are the same
# in each run, so that a failure comes from a change; elsewhere every run tries different ones.
hypothesis.settings.register_profile(
    "tests",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("tests")

_SLOW = tuple(
    line
    for line in Path(__file__).with_name("slow.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
# All tests of one of these groups share what takes long to start, such as a browser. Those in a
# browser take longest: two processes share them.
_TOGETHER = re.compile(
    "tests/(browser/test_[a-e]|browser|container|deployment|clients|mail_servers)"
)


class Scheduling(LoadFileScheduling):
    """Give each file to one process, and what belongs together to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        group = _TOGETHER.match(nodeid)
        return group[0] if group else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)  # also without pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


def pytest_collection_finish() -> None:
    """Let the garbage collector look at what comes from now on only: the tests stay until the end.

    With those of all files, a collection takes a second, and some tests ask for one.
    """
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep how the run ended, for `tests.rerun`."""
    config = session.config
    # Without pytest's plugin of that name there is no cache
    if not hasattr(config, "workerinput") and (cache := getattr(config, "cache", None)):
        cache.set(STATUS_KEY, int(exitstatus))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long, and put it first (``slow.txt``)."""
    for item in items:
        if _rank(item) < len(_SLOW):
            item.add_marker("slow")
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    return _rank_of(item.nodeid.partition("::")[0])


@cache
def _rank_of(file: str) -> int:
    places = (place for place, name in enumerate(_SLOW) if file.startswith(name))
    return next(places, len(_SLOW))


@pytest.fixture
def cloud() -> Iterator[None]:
    """A new cloud for one test, which holds only the service's resources."""
    clear_caches()
    with mock_aws():
        provide_resources()
        yield
    clear_caches()
