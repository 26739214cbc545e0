"""Recipients who must not get a message of this kind."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.delivery.units import Unit
from chalicelib.generation import suppression
from chalicelib.generation.chunk import Chunk
from chalicelib.suppression import store
from tests.fake_cloud import aws_requests
from tests.unit.transmissions.examples import CREATED, OPTIONS, body, transmission

pytestmark = pytest.mark.usefixtures("cloud")
