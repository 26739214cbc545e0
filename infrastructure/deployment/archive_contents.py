"""Say which files of the downloaded packages an archive for Lambda holds.

Left out are what Lambda's Python runtime has by itself, what only compilers and type checkers read,
and parts that no function imports: of Powertools, X-Ray's SDK, Authlib and pyasn1-modules most, of
pydantic its version 1, and of cffi all but the library that cryptography loads. They would be 3 MB.
``jmespath`` is in the archive though the runtime has it, so that Powertools meets the version that
it was tried with.
"""

from __future__ import annotations

import re

#: Distributions that come with ``boto3``, which the runtime has → the top-level names they install
RUNTIME_PACKAGES = {
    "botocore": "botocore",
    "python-dateutil": "dateutil",
    "six": "six",
    "urllib3": "urllib3",
}

_ENDINGS = (".pyc", ".pyi", ".c", ".pxd", ".pyx", ".h", "/")
_LEFT_OUT = re.compile(
    rf"({'|'.join(RUNTIME_PACKAGES.values())})[/.]"
    r"|(botocore|python_dateutil|six|urllib3)-[^/]*/"
    r"|aws_lambda_powertools/event_handler/"
    r"|aws_lambda_powertools/utilities/(?!__init__|jmespath_utils)"
    r"|aws_xray_sdk/ext/(?!__init__|botocore|boto_utils|util|resources)"
    r"|pydantic/v1/|pycparser/|cffi/"
    r"|authlib/(integrations|jose|oauth1)/|pyasn1_modules/(?!__init__|rfc5280)"
)


def is_needed(name: str) -> bool:
    """Tell whether a file belongs into the archive; ``name`` is its path in there."""
    return not name.endswith(_ENDINGS) and not _LEFT_OUT.match(name)
