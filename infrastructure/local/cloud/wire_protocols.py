"""Tell MiniStack which protocol a service speaks, without the models of botocore.

Repairs (MiniStack 1.5.33): to set the ``Content-Type`` of a service's first response, MiniStack
imports botocore and reads the model of the whole service, for one word of it. For the services that
Postfinch uses at its start this takes 0.2 s and 20 MB.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

from ministack.core import responses

#: What MiniStack reads of the models
METADATA = {
    "cloudformation": {"protocol": "query"},
    "dynamodb": {"protocol": "json", "jsonVersion": "1.0"},
    "kms": {"protocol": "json", "jsonVersion": "1.1"},
    "s3": {"protocol": "rest-xml"},
    "sqs": {"protocol": "json", "jsonVersion": "1.0"},
}


def install() -> None:
    """Answer for these services; the models of others are read as before."""
    read = responses._service_model

    @cache
    def service_model(service: str) -> Any:
        metadata = METADATA.get(service)
        return read(service) if metadata is None else SimpleNamespace(metadata=metadata)

    responses._service_model = service_model
