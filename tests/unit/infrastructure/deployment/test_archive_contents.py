from __future__ import annotations

import pytest

from infrastructure.deployment.archive_contents import is_needed


@pytest.mark.parametrize(
    "name",
    [
        "botocore/client.py",
        "six.py",
        "python_dateutil-2.9.0.dist-info/METADATA",
        "pydantic/typed.pyi",
        "aws_lambda_powertools/event_handler/api_gateway.py",
        "aws_lambda_powertools/utilities/parser/__init__.py",
        "aws_xray_sdk/ext/django/apps.py",
        "pydantic/v1/main.py",
        "cffi/api.py",
        "authlib/integrations/flask_client/apps.py",
        "authlib/jose/__init__.py",
        "pyasn1_modules/rfc2315.py",
    ],
)
def test_what_the_runtime_has_and_what_nothing_imports_is_left_out(name: str) -> None:
    assert not is_needed(name)


@pytest.mark.parametrize(
    "name",
    [
        "app.py",
        "chalicelib/core/six.py",
        "aws_lambda_powertools/logging/formatter.py",
        "aws_lambda_powertools/utilities/jmespath_utils/__init__.py",
        "aws_xray_sdk/ext/botocore/patch.py",
        "console/vendor/preact.js",
        "sixty.py",
        "_cffi_backend.cpython-311-x86_64-linux-gnu.so",
        "pydantic/main.py",
        "authlib/oauth2/rfc6749/parameters.py",
        "pyasn1_modules/rfc5280.py",
        "pyasn1_modules/__init__.py",
    ],
)
def test_everything_else_is_in_the_archive(name: str) -> None:
    assert is_needed(name)
