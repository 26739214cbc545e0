"""Give the tests of recording the local cloud of the tests of metrics."""

from __future__ import annotations

from tests.unit.metrics.conftest import local_cloud

__all__ = ["local_cloud"]
