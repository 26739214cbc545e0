"""Attachments and inline images of inline content (spec 2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.core.errors import bad_format, mime_build_error
from chalicelib.core.fields import Body
from chalicelib.core.settings import settings
from chalicelib.mail_format.mime import Attachment, InlineImage, MimeError
from chalicelib.recipient_lists.limits import check_length

NAME_BYTES = 255


class AttachmentField(Body):
    """One file: its name, its MIME type as it will stand, its data in base64 without line ends."""

    name: str
    type: str
    data: str


class InlineImageField(AttachmentField):
    """One picture that the html shows as ``cid:<name>``."""


def check_files(
    attachments: Sequence[AttachmentField], inline_images: Sequence[InlineImageField]
) -> None:
    """Raise 422 for a file that cannot be attached, or for too much of them."""
    files = [*attachments, *inline_images]
    for file in files:
        check_length("name", file.name, NAME_BYTES)
    names = [image.name for image in inline_images]
    if len(set(names)) != len(names):
        raise bad_format("the names of inline_images must be unique")
    if (size := sum(len(file.data) for file in files)) > settings().max_message_bytes:
        most = settings().max_message_bytes
        raise bad_format(f"attachments have length '{size}', but max length is '{most}'")
    try:
        for attachment in attachments:
            _ = Attachment(attachment.name, attachment.type, attachment.data).encoded
        for image in inline_images:
            _ = InlineImage(image.name, image.type, image.data).encoded
    except MimeError as fault:
        raise mime_build_error(str(fault)) from None
