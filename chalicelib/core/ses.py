"""Make clients of Amazon SES, and name what identifies a message in its notifications."""

from __future__ import annotations

from typing import Any, Final

from chalicelib.core.settings import Settings

#: The tag of a message whose delivery SES reports by notifications; its value is `tag_value`
MESSAGE_TAG: Final = "postfinch_report_id"


def tag_value(local_part: str) -> str:
    """Return the local part of a return path as a tag: its dots are not allowed there."""
    return local_part.replace(".", "_")


def local_part_of(tag: str) -> str:
    """Return the local part of the return path in the value of a tag."""
    return tag.replace("_", ".")


def client(current: Settings) -> Any:
    """Return the client for the settings' credentials, or else for those of this process.

    Where the service itself is not on AWS, its own credentials are for other addresses.
    """
    import boto3
    from botocore.config import Config

    own: dict[str, Any] = {}
    if current.ses_access_key_id:
        own = {
            "region_name": current.ses_region,
            "aws_access_key_id": current.ses_access_key_id,
            "aws_secret_access_key": current.ses_secret_access_key,
            "aws_session_token": current.ses_session_token or None,
            "endpoint_url": current.ses_endpoint or None,
        }
    # The library's types do not know this option
    options: Any = {"ignore_configured_endpoint_urls": True} if own else {}
    config = Config(retries={"total_max_attempts": 1}, **options)
    return boto3.client("sesv2", config=config, **own)
