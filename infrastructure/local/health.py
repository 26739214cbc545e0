"""Check whether the service is ready: ``python -m infrastructure.local.health`` exits with 0 if so.

It is ready between the end of its start and its stop, when the API and the relay answer. This is
the health check of the image, which runs every few seconds: it imports little.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from infrastructure.local.supervisor import probes

#: The runtime has this file in its data directory while it is ready
ADDRESS_FILE = "service.json"
#: The name in it under which production on one machine tells its port for HTTP
HTTP_PORT = "http_port"


def problem(environ: Mapping[str, str]) -> str:
    """Return what does not answer, or an empty string."""
    try:
        address = json.loads(Path(environ.get("DATA_DIR", ".local"), ADDRESS_FILE).read_text())
    except OSError:
        return "the service has not finished its start, or it stops"
    if port := address.get(HTTP_PORT):
        works = probes.answers_http(port, "/health", (200,))
        return "" if works else f"mail cannot be accepted: see /health on port {port}"
    api_port, smtp_port = environ.get("API_PORT") or "8080", environ.get("SMTP_PORT") or "2525"
    if not probes.answers_http(int(api_port), "/api/v1", (200,)):
        return f"the API does not answer on port {api_port}"
    if not probes.greets_by_smtp(int(smtp_port)):
        return f"the relay does not greet on port {smtp_port}"
    return ""


def main() -> int:
    """Check once; return the exit status."""
    text = problem(os.environ)
    if text:
        print(text, file=sys.stderr)
    return 1 if text else 0


if __name__ == "__main__":
    sys.exit(main())
