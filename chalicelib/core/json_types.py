"""Name the type of a JSON object whose keys this code does not decide."""

from __future__ import annotations

from typing import Any

#: A JSON object of somebody else: the body of a request or of a response, substitution data and
#: metadata, content with its template parts, a CloudFormation template, a document of AWS.
#:
#: What this service writes and reads itself has a type of its own: a dataclass, or a ``TypedDict``
#: where the dictionary travels as it is (``core.message_event``, the heads of queue messages).
#: There is no other alias of ``dict[str, Any]`` (``tests/unit/test_guards.py``).
Json = dict[str, Any]
