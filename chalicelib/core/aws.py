"""Make the AWS clients of this process: one per service, when first used.

Endpoint, region and credentials come from the standard AWS environment variables, so the same code
talks to AWS, LocalStack and the embedded local cloud. The clients are made with botocore, on which
boto3 is built: ``import boto3`` loads its transfer manager too, 40 ms of a cold start.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient


#: Error codes of AWS for more requests than it takes at the time
_TOO_MANY = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)


class Overloaded(RuntimeError):
    """AWS left part of a request unprocessed for too long."""


def is_overload(error: Exception) -> bool:
    """Tell whether a request failed that may succeed later.

    AWS had too many requests, or could not be reached.
    """
    from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

    if isinstance(error, ClientError):
        return error.response.get("Error", {}).get("Code") in _TOO_MANY
    return isinstance(error, Overloaded | HTTPClientError | ConnectionError)


@cache
def _client(service: str) -> Any:
    from botocore.config import Config
    from botocore.session import get_session

    config = Config(
        connect_timeout=3,
        read_timeout=30,
        retries={"max_attempts": 4, "mode": "standard"},
        max_pool_connections=32,
        s3={"addressing_style": "path"},
    )
    return get_session().create_client(service, config=config)


def dynamodb() -> DynamoDBClient:
    """Return the DynamoDB client."""
    return _client("dynamodb")


def sqs() -> SQSClient:
    """Return the SQS client."""
    return _client("sqs")


def s3() -> S3Client:
    """Return the S3 client."""
    return _client("s3")


def kms() -> KMSClient:
    """Return the KMS client."""
    return _client("kms")


def clear_cache() -> None:
    """Forget the clients, for tests that switch endpoints.

    It is not registered with the other caches: making four clients costs ten times as much as
    making the tables, and one cloud in a test's own process is as good as the next.
    """
    _client.cache_clear()
