"""Store bodies that are too large for an item or a queue message, as objects in the bucket."""

from __future__ import annotations

from botocore.exceptions import ClientError

from chalicelib.core import aws
from chalicelib.core.settings import settings


class BlobMissing(LookupError):
    """No object is stored under the key."""


def put(key: str, data: bytes) -> None:
    """Store ``data`` under ``key``, in place of any object that has this key."""
    aws.s3().put_object(Bucket=settings().bucket_name, Key=key, Body=data)


def get(key: str) -> bytes:
    """Return the object under ``key``; raises :class:`BlobMissing`."""
    try:
        return aws.s3().get_object(Bucket=settings().bucket_name, Key=key)["Body"].read()
    except ClientError as error:
        if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
            raise BlobMissing(key) from None
        raise


def delete(key: str) -> None:
    """Delete the object, if it exists."""
    aws.s3().delete_object(Bucket=settings().bucket_name, Key=key)
