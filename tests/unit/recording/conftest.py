"""Recording's own tests use the cloud of the tests of metrics as well."""

from __future__ import annotations

from tests.unit.metrics.conftest import local_cloud

__all__ = ["local_cloud"]
