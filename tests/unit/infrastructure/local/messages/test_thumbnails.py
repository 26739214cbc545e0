"""Images are shown small, and what is no image is blank."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from infrastructure.local.messages.thumbnails import SIZE, thumbnail

WHITE = (255, 255, 255)


def encoded(image: Image.Image, kind: str) -> bytes:
    output = io.BytesIO()
    image.save(output, kind)
    return output.getvalue()


def picture(size: tuple[int, int], color: tuple[int, int, int], kind: str = "PNG") -> bytes:
    return encoded(Image.new("RGB", size, color), kind)


def small(content: bytes, content_type: str = "image/png") -> Image.Image:
    image = Image.open(io.BytesIO(thumbnail(content_type, content)))
    assert (image.format, image.size) == ("JPEG", SIZE)
    return image


def is_near(image: Image.Image, place: tuple[int, int], color: tuple[int, int, int]) -> bool:
    pixel = image.convert("RGB").getpixel(place)
    assert isinstance(pixel, tuple)
    return all(abs(a - b) < 40 for a, b in zip(pixel, color, strict=True))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_a_large_image_fills_the_thumbnail(kind: str) -> None:
    image = small(picture((800, 300), (200, 0, 0), kind), f"image/{kind.lower()}")
    for place in ((0, 0), (179, 119), (90, 60)):
        assert is_near(image, place, (200, 0, 0))


def test_a_small_image_is_in_the_middle_of_white() -> None:
    image = small(picture((20, 20), (0, 0, 200)))
    assert is_near(image, (90, 60), (0, 0, 200))
    assert is_near(image, (5, 5), WHITE)


def test_what_is_transparent_is_white() -> None:
    image = small(encoded(Image.new("RGBA", (300, 300), (0, 0, 0, 0)), "PNG"))
    assert is_near(image, (90, 60), WHITE)


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("text/plain", picture((300, 300), (0, 0, 0))),
        ("image/png", b"no image"),
        ("image/png", b""),
        ("image/png", picture((300, 300), (0, 0, 0))[:100]),
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        # A format that is not read, whatever the message calls it
        ("image/png", encoded(Image.new("RGB", (200, 200)), "TIFF")),
    ],
)
def test_what_is_no_image_is_blank(content_type: str, content: bytes) -> None:
    image = small(content, content_type)
    assert all(is_near(image, place, WHITE) for place in ((0, 0), (90, 60), (179, 119)))


def bomb(width: int, height: int) -> bytes:
    """Return a PNG that says that it has a size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * 100_000)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return start + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(10_000, 2_001), (65_000, 65_000), (2_000_000_000, 1)])
def test_an_image_of_too_many_pixels_is_not_decoded(size: tuple[int, int]) -> None:
    assert is_near(small(bomb(*size)), (90, 60), WHITE)
