"""The service: a package for each feature, in the bands that ARCHITECTURE.md describes."""

import gc

#: The version of the service, as ``GET /api/v1`` and the OpenAPI document tell it
__version__ = "0.1.0"

# Python looks for cycles after every 700 new objects. What importing makes lives on, and looking at
# it even once takes a tenth of a cold start, which ends before there are as many objects as this.
gc.set_threshold(200_000, 20, 50)
