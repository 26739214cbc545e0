"""Prepare the container engine and a local cloud once for all tests of images."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from tests.container.engine import Engine, NoBaseImage, make_engine, missing
from tests.unit.infrastructure.clouds import LocalCloud

KEY = "container-key"


@pytest.fixture(scope="package")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if reason := missing():
        pytest.skip(reason)
    engine = make_engine(tmp_path_factory.mktemp("containers"))
    try:
        engine.prepare()
        yield engine
    except NoBaseImage as fault:
        pytest.skip(f"no base image: {fault}")
    finally:
        engine.close()


@pytest.fixture(scope="package")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment variables with which containers use an empty local cloud."""
    cloud = LocalCloud(tmp_path_factory.mktemp("cloud"))
    cloud.start()
    yield {
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "SECRET_KEY": base64.b64encode(b"s" * 32).decode(),
        "STAGE": "container",
    }
    cloud.stop()


@pytest.fixture(scope="package")
def provisioned(engine: Engine, cloud: dict[str, str]) -> dict[str, str]:
    """The cloud after the provisioning image created the resources and the first account."""
    engine.run(engine.build("provision"), cloud | {"API_KEY": KEY}, "--rm")
    return cloud


@pytest.fixture(scope="package")
def relay_image(engine: Engine) -> str:
    """The image of the relay and of the delivery container."""
    return engine.build("relay")


@pytest.fixture(scope="package")
def service_image(engine: Engine) -> str:
    """The image of the whole service."""
    return engine.build_service()
