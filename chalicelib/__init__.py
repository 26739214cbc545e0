"""The service: a package for each feature, in the bands that ARCHITECTURE.md describes."""

import gc
import sys

#  The version of the service, as ``GET /api/v1`` and the OpenAPI document show it
__version__ = "0.1.0"

# Python looks for cycles after every 700 new objects. Objects made by imports live as long as the
# process, and one search among them takes a tenth of a cold start. With this limit a cold start
# ends before the first search.
gc.set_threshold(200_000, 20, 50)

# botocore would import pyOpenSSL wherever it is installed, for one name that it does not use, and a
# cold start would take 15 ms longer. Only passkeys need it (webauthn).
sys.modules.setdefault("urllib3.contrib.pyopenssl", None)  # type: ignore[arg-type]
