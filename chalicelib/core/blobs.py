"""Store bodies that are too large for an item or a queue message, as objects in the bucket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from botocore.exceptions import ClientError

from chalicelib.core import aws
from chalicelib.core.settings import settings
from chalicelib.core.spool import PIECE, Octets, Spool


class BlobMissing(LookupError):
    """No object is stored under the key."""


def put(key: str, data: bytes) -> None:
    """Store ``data`` under ``key``, in place of any object that has this key."""
    aws.s3().put_object(Bucket=settings().bucket_name, Key=key, Body=data)


def put_large(key: str, octets: Octets) -> None:
    """Store the same without a copy in memory, where ``octets`` are those of a mapped file."""
    if isinstance(octets, bytes):
        put(key, octets)
        return
    octets.seek(0)
    aws.s3().put_object(Bucket=settings().bucket_name, Key=key, Body=cast(IO[bytes], octets))


@contextmanager
def pieces(key: str) -> Iterator[Iterator[bytes]]:
    """Return the object under ``key`` in pieces, for the block; raises :class:`BlobMissing`."""
    with _body(key) as body:
        yield iter(lambda: body.read(PIECE), b"")


def get(key: str) -> bytes:
    """Return the object under ``key``; raises :class:`BlobMissing`."""
    with _body(key) as body:
        return body.read()


@contextmanager
def large(key: str) -> Iterator[Spool]:
    """Return the object under ``key`` as a spool, for the block; raises :class:`BlobMissing`."""
    with Spool() as spool:
        with _body(key) as body:
            while piece := body.read(PIECE):
                spool.write(piece)
        yield spool


def url_of(key: str, content_type: str, disposition: str, seconds: int = 300) -> str:
    """Return a URL at which anybody can fetch the object for some time, with these headers.

    It is for what is larger than a reply of Lambda can be.
    """
    return aws.s3().generate_presigned_url(
        "get_object",
        Params={
            "Bucket": settings().bucket_name,
            "Key": key,
            "ResponseContentType": content_type,
            "ResponseContentDisposition": disposition,
        },
        ExpiresIn=seconds,
    )


def delete(key: str) -> None:
    """Delete the object, if it exists."""
    aws.s3().delete_object(Bucket=settings().bucket_name, Key=key)


@contextmanager
def _body(key: str) -> Iterator[Any]:
    """Return the body of an object, which reads as a file does; raises :class:`BlobMissing`."""
    try:
        body = aws.s3().get_object(Bucket=settings().bucket_name, Key=key)["Body"]
    except ClientError as error:
        if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
            raise BlobMissing(key) from None
        raise
    with body:
        yield body
