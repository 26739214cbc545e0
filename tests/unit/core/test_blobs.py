from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from chalicelib.core import aws, blobs
from chalicelib.core.settings import settings

pytestmark = pytest.mark.usefixtures("cloud")


def test_what_was_stored_is_returned_byte_by_byte() -> None:
    blobs.put("a/b", bytes(range(256)))
    assert blobs.get("a/b") == bytes(range(256))


def test_storing_again_replaces() -> None:
    blobs.put("a", b"1")
    blobs.put("a", b"2")
    assert blobs.get("a") == b"2"


def test_what_is_not_there_is_told_by_its_key() -> None:
    with pytest.raises(blobs.BlobMissing, match="a/b"):
        blobs.get("a/b")


def test_deleting_is_for_good_and_deleting_nothing_is_no_fault() -> None:
    blobs.put("a", b"1")
    blobs.delete("a")
    blobs.delete("a")
    with pytest.raises(blobs.BlobMissing):
        blobs.get("a")


def test_a_bucket_that_is_not_there_is_no_missing_object() -> None:
    aws.s3().delete_bucket(Bucket=settings().bucket_name)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        blobs.get("a")
