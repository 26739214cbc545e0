"""Name the type of a JSON object that the API returns or takes.

The package is used without the service, so it does not import the service's name for it.
"""

from __future__ import annotations

from typing import Any

#: A JSON object: the body of a request or of a response, or a part of one.
Json = dict[str, Any]
