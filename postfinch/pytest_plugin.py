"""Provide the fixture ``postfinch`` for pytest: a mail service, and an account for each test.

pytest loads this module in every environment that the package is installed in, so it imports
nothing that takes time; the service starts when a test first asks for the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postfinch.local_service import LocalService
    from postfinch.testing import TestAccount


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this plugin."""
    group = parser.getgroup("postfinch", "a mail service for tests")
    group.addoption(
        "--postfinch-url",
        metavar="URL",
        default=os.environ.get("POSTFINCH_URL"),
        help="use the local service that runs at URL instead of starting one; POSTFINCH_API_KEY is "
        "its API key, POSTFINCH_SMTP_PORT the port of its relay, POSTFINCH_INBOUND_PORT that of "
        "mail that comes in",
    )
    parser.addini(
        "postfinch_domains",
        "domains that the tested program sends from, besides example.test",
        type="args",
        default=[],
    )
    parser.addini(
        "postfinch_settings",
        "settings of the service, such as CONSOLE=false, one on a line",
        type="linelist",
        default=[],
    )


@pytest.fixture(scope="session")
def postfinch_service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalService]:
    """The service of the test run: its addresses, and the key of its account."""
    from postfinch.testing import domains

    names: list[str] = request.config.getini("postfinch_domains")
    if url := request.config.getoption("--postfinch-url"):
        service = _running(url)
        domains.provide(service, names)
        yield service
        return
    from postfinch.testing.shared_service import SharedService

    base = tmp_path_factory.getbasetemp()
    # The processes of pytest-xdist have directories of their own inside the run's
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    settings = dict(line.split("=", 1) for line in request.config.getini("postfinch_settings"))
    shared = SharedService(folder / "postfinch", settings)
    service = shared.join()
    try:
        domains.provide(service, names)
        yield service
    finally:
        shared.leave()


@pytest.fixture
def postfinch(postfinch_service: LocalService) -> Iterator[TestAccount]:
    """An account of this test's own, with its API key, SMTP login, mailbox and webhooks."""
    from postfinch.testing import TestAccount

    account = TestAccount(postfinch_service)
    yield account
    account.close()


def _running(url: str) -> LocalService:
    """Return the service at a URL, as the environment describes it.

    What the environment leaves open is known of the service of this user that runs there.
    """
    from dataclasses import replace
    from urllib.parse import urlsplit

    from postfinch.local_service import LocalService, at

    environ, host = os.environ, urlsplit(url).hostname or "localhost"
    own = at(url) or LocalService(url.rstrip("/"), "", host, 2525, inbound_port=2526)
    return replace(
        own,
        api_key=environ.get("POSTFINCH_API_KEY") or own.api_key,
        smtp_host=environ.get("POSTFINCH_SMTP_HOST") or own.smtp_host,
        smtp_port=int(environ.get("POSTFINCH_SMTP_PORT") or own.smtp_port),
        inbound_port=int(environ.get("POSTFINCH_INBOUND_PORT") or own.inbound_port),
    )
