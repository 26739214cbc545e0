"""Make the AWS clients of this process: one per service, when first used or by `make_clients`.

Endpoint, region and credentials come from the standard AWS environment variables, so the same code
talks to AWS, LocalStack and the embedded local cloud. The clients are made with botocore, on which
boto3 is built: ``import boto3`` loads its transfer manager too, 40 ms of a cold start.

A request costs about 0.05 ms of processor time, where botocore's defaults take half a millisecond
(``tests.bench aws_clients``):

- Requests to DynamoDB and SQS are prepared: botocore sends the first one of each operation, and
  handles those that fail (`aws_requests`). Where functions are traced botocore sends all, because
  its requests are those that the trace shows.
- All clients come from one session: a session of its own reads the list of endpoints again.
- Parameters are not validated before they are sent. Types check them in our code, and AWS refuses
  what is wrong.
- The ``User-Agent`` is a constant. botocore composes a new one twice for each request.
- Items are read by `item_parser`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from chalicelib.core import tracing
from chalicelib.core.botocore_faults import report_unprepared

if TYPE_CHECKING:
    from botocore.session import Session
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

USER_AGENT = "Postfinch"

#: Services whose requests are JSON in a POST, and frequent
_PREPARED_SERVICES = ("dynamodb", "sqs")

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
def _session() -> Session:
    from botocore.session import get_session

    from chalicelib.core.item_parser import ItemParserFactory

    session = get_session()
    session.register_component("response_parser_factory", ItemParserFactory())
    return session


def make_client(service: str, **options: Any) -> Any:
    """Make a client of this process's session, with these options of botocore's ``Config``."""
    from botocore.config import Config

    settled: dict[str, Any] = {
        "connect_timeout": 3,
        "read_timeout": 30,
        "retries": {"max_attempts": 4, "mode": "standard"},
        "max_pool_connections": 32,
        "s3": {"addressing_style": "path"},
        "parameter_validation": False,
        "user_agent": USER_AGENT,
    }
    session = _session()
    client = session.create_client(service, config=Config(**(settled | options)))
    if service in _PREPARED_SERVICES and not tracing.is_active():
        _prepare(client, session.get_credentials())
    return client


def _prepare(client: Any, credentials: Any) -> None:
    """Let a client prepare its requests, or send them as botocore does if that is not possible."""
    try:
        from chalicelib.core.aws_requests import prepare_requests

        prepare_requests(client, credentials)
    except Exception:
        report_unprepared()


_client = cache(make_client)


def make_clients() -> None:
    """Make the clients that most work needs, so that the first work need not wait for them."""
    for service in ("dynamodb", "sqs", "s3"):
        _client(service)


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
    """Forget the clients and their session, for tests that switch endpoints.

    It is not registered with the other caches: making four clients costs ten times as much as
    making the tables, and one cloud in a test's own process is as good as the next.
    """
    _client.cache_clear()
    _session.cache_clear()
