"""Build MIME messages from parts: the tree that mail clients expect, assembled with one join.

The tree is mixed(related(alternative(text, amp, html), inline images), attachments), a level with a
single part is left out (RFC 2046 5.1, RFC 2387). Every message ends with CRLF.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from chalicelib.mail_format.content_ids import with_content_ids
from chalicelib.mail_format.files import Attachment, Chunks, InlineImage, MimeError
from chalicelib.mail_format.text_pieces import EncodedPieces, encode_pieces

_SET_BY_ASSEMBLY = (b"mime-version", b"content-type", b"content-transfer-encoding")

Text = str | Sequence[str]
"""A text body, or the pieces of one."""


class Tail(NamedTuple):
    """The octets from ``start`` to the end of others, which are not copied."""

    octets: bytes = b""
    start: int = 0


class UnsignedMessage(NamedTuple):
    """A message, and its body as DKIM signs it (relaxed) if building the message showed it.

    Where there is a ``tail``, it is the body, which may be large; ``data`` is all before it.
    """

    data: bytes
    relaxed_body: bytes | None = None
    tail: Tail = Tail()

    def after(self, *fields: bytes) -> bytes:
        """Return the whole message behind these header fields."""
        octets, start = self.tail
        return b"".join([*fields, self.data, memoryview(octets)[start:]])


def build_message(
    headers: Sequence[bytes],
    *,
    text: Text | None = None,
    html: Text | None = None,
    amp_html: Text | None = None,
    attachments: Sequence[Attachment] = (),
    inline_images: Sequence[InlineImage] = (),
    boundary_seed: str,
) -> UnsignedMessage:
    """Return the complete message: header fields, MIME-Version, content headers, body.

    `headers` are complete fields as made by `headers.encode_header`. `boundary_seed` names the
    message (its id, say): the same seed and parts give the same bytes. Raises MimeError when
    neither text nor html is there, on duplicate image names, on parts that cannot be encoded,
    and when `headers` has a field that this function writes itself (spec 2.2).
    """
    if text is None and html is None:
        raise MimeError("a message needs a text or an html part")
    if len({image.name for image in inline_images}) != len(inline_images):
        raise MimeError("inline image names are not unique")
    if html is not None and not all(image.name.isascii() for image in inline_images):
        html = with_content_ids("".join(html), [image.name for image in inline_images])
    bodies = [
        (subtype, encode_pieces([body] if isinstance(body, str) else body))
        for subtype, body in (("plain", text), ("x-amp-html", amp_html), ("html", html))
        if body is not None
    ]
    texts = [_text_part(subtype, each, each.body) for subtype, each in bodies]
    plain = [each.body for _, each in bodies if each.encoding == "7bit"]
    for file in (*inline_images, *attachments):
        plain += file.encoded if file.is_composite else []
    boundary = _boundary(boundary_seed, plain)
    body = _multipart("alternative", boundary, texts)
    root = (
        "multipart/alternative" if len(texts) > 1 else "text/plain" if html is None else "text/html"
    )
    images = [image.encoded for image in inline_images]
    body = _multipart("related", boundary, [body, *images], f' type="{root}";')
    body = _multipart("mixed", boundary, [body, *(file.encoded for file in attachments)])
    if not body[-1].endswith(b"\r\n"):
        body.append(b"\r\n")
    _check_headers(headers)
    return UnsignedMessage(
        b"".join([*headers, b"MIME-Version: 1.0\r\n", *body]),
        None if inline_images or attachments else _relaxed_body(boundary, bodies),
    )


def _check_headers(headers: Iterable[bytes]) -> None:
    names = {header.partition(b":")[0].lower() for header in headers}
    for name in _SET_BY_ASSEMBLY:
        if name in names:
            raise MimeError(f"header {name.decode()} is set by assembly")


def _text_part(subtype: str, text: EncodedPieces, body: bytes) -> Chunks:
    head = (
        f"Content-Type: text/{subtype}; charset=utf-8\r\n"
        f"Content-Transfer-Encoding: {text.encoding}\r\n\r\n"
    )
    return [head.encode("ascii"), body]


def _relaxed_body(boundary: str, texts: Sequence[tuple[str, EncodedPieces]]) -> bytes | None:
    """Return the relaxed body of a message that has only texts, if all their forms are known."""
    parts: list[Chunks] = []
    for subtype, text in texts:
        if text.relaxed is None:
            return None
        parts.append(_text_part(subtype, text, text.relaxed))
    entity = b"".join(_multipart("alternative", boundary, parts))
    # Our heads and delimiters are relaxed as they are; blank lines at the end do not count
    return entity.partition(b"\r\n\r\n")[2].rstrip(b"\r\n") + b"\r\n"


def _boundary(seed: str, plain_bodies: Chunks) -> str:
    """Derive the common start of the boundaries; no body contains it.

    Only bodies that are not encoded are searched: neither quoted-printable nor base64 can contain
    the `=_` that every boundary starts with (RFC 2045 6.7).
    """
    stem = sha256(seed.encode("utf-8", "replace")).hexdigest()[:32]
    while any(stem.encode("ascii") in body for body in plain_bodies):
        stem = sha256(stem.encode("ascii")).hexdigest()[:32]
    return stem


def _multipart(subtype: str, stem: str, parts: Sequence[Chunks], parameter: str = "") -> Chunks:
    """Join parts into one multipart; a single part is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    boundary = f"=_{subtype[0]}{stem}"
    head = f'Content-Type: multipart/{subtype};{parameter}\r\n boundary="{boundary}"\r\n'
    delimiter = f"\r\n--{boundary}\r\n".encode("ascii")
    chunks = [head.encode("ascii")]
    for part in parts:
        chunks.append(delimiter)
        chunks += part
    chunks.append(f"\r\n--{boundary}--".encode("ascii"))
    return chunks
