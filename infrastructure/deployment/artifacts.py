"""Upload the archive and the template that CloudFormation deploys from to a bucket.

The bucket ``postfinch-artifacts-<account>-<region>`` is created when it is missing. Objects are
named by their digests, so that an unchanged archive keeps its name and its functions are not
updated.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from infrastructure.package import Package

_CLOSED = dict.fromkeys(
    ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
)


def upload(package: Package, clients: Callable[[str], Any]) -> str:
    """Store archive and template; return the template's address."""
    s3 = clients("s3")
    bucket = _ensure_bucket(s3, clients("sts").get_caller_identity()["Account"])
    archive = package.archive.read_bytes()
    code = {"Bucket": bucket, "Key": f"{_digest(archive)}.zip"}
    s3.put_object(**code, Body=archive)
    template = copy.deepcopy(package.template)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = code
    body = json.dumps(template, sort_keys=True).encode()
    key = f"{_digest(body)}.json"
    s3.put_object(Bucket=bucket, Key=key, Body=body)
    return f"{s3.meta.endpoint_url}/{bucket}/{key}"


def _ensure_bucket(s3: Any, account: str) -> str:
    region = s3.meta.region_name
    name = f"postfinch-artifacts-{account}-{region}"
    try:
        s3.head_bucket(Bucket=name, ExpectedBucketOwner=account)
        return name
    except ClientError as error:
        if error.response["Error"]["Code"] != "404":
            raise
    elsewhere = {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=name, **({} if region == "us-east-1" else elsewhere))
    s3.put_public_access_block(Bucket=name, PublicAccessBlockConfiguration=_CLOSED)
    return name


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
