"""Sign requests to a local cloud that no AWS client makes."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def signed_headers(
    method: str,
    url: str,
    secret: str,
    *,
    service: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return ``headers`` and those that sign the request with ``secret``."""
    request = AWSRequest(method, url, data=body, headers=headers)
    SigV4Auth(Credentials("test", secret), service, "us-east-1").add_auth(request)
    return dict(request.headers)


def signed_get(url: str, secret: str) -> Any:
    """Return the JSON at ``url`` of a local cloud whose secret is ``secret``."""
    headers = signed_headers("GET", url, secret, service="postfinch")
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
        return json.loads(response.read())
