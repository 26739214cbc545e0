"""Package and deploy the application once for all tests of the deployment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infrastructure.package import Package, build, host_architecture
from tests.deployment.deployed import Deployment, deployment


@pytest.fixture(scope="package")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """The package of the application, built for this machine."""
    out = tmp_path_factory.mktemp("package")
    return build(out, architecture=host_architecture(), installed=True)


@pytest.fixture(scope="package")
def deployed(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The package deployed to a local cloud; failed messages are redelivered at once."""
    with deployment(package, tmp_path_factory.mktemp("deployment")) as running:
        running.deploy(
            Smarthost=f"127.0.0.1:{running.sink.port}",
            SmarthostTls="off",
            EventsLag="0",
            RedeliveryBase="0",
        )
        yield running
