from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from chalicelib.core import aws, blobs
from chalicelib.core.settings import settings

pytestmark = pytest.mark.usefixtures("cloud")


def test_an_object_is_read_back_byte_by_byte() -> None:
    blobs.put("a/b", bytes(range(256)))
    assert blobs.get("a/b") == bytes(range(256))


def test_storing_again_replaces_the_object() -> None:
    blobs.put("a", b"1")
    blobs.put("a", b"2")
    assert blobs.get("a") == b"2"


def test_the_error_of_a_missing_object_names_its_key() -> None:
    with pytest.raises(blobs.BlobMissing, match="a/b"):
        blobs.get("a/b")


def test_an_object_can_be_deleted_more_than_once() -> None:
    blobs.put("a", b"1")
    blobs.delete("a")
    blobs.delete("a")
    with pytest.raises(blobs.BlobMissing):
        blobs.get("a")


def test_a_missing_bucket_is_not_reported_as_a_missing_object() -> None:
    aws.s3().delete_bucket(Bucket=settings().bucket_name)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        blobs.get("a")
