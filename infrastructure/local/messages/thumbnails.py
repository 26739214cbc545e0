"""Make a small JPEG of an image of a message, as Mailpit shows it.

Images are of strangers: only common formats are read, only the first picture of each, and none
that would take much memory. Whatever cannot be read gives a blank one.
"""

from __future__ import annotations

import io
import logging
import threading
import warnings
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH, HEIGHT = SIZE = (180, 120)
#: Pixels of an image that is decoded; one takes 4 bytes of memory
MOST_PIXELS: Final = 20_000_000

_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_QUALITY: Final = 70
# Two large images at once would take twice the memory
_turn = threading.Lock()

log = logging.getLogger(__name__)


def thumbnail(content_type: str, content: bytes) -> bytes:
    """Return a JPEG of 180 by 120, white where there is no image."""
    picture = None
    if content_type.startswith("image/"):
        with _turn:
            try:
                picture = _small(content)
            except Exception as error:  # a decoder may raise anything
                log.info("no thumbnail of an image: %s", error)
    return _jpeg(picture)


def _small(content: bytes) -> Image | None:
    """Return the image: cut to the size if it is larger, in the middle, or else as it is."""
    from PIL import Image, ImageOps

    # What it warns of is checked here
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
        if image.width * image.height > MOST_PIXELS:
            return None
        # A JPEG is decoded smaller at once
        image.draft("RGB", (2 * WIDTH, 2 * HEIGHT))
        upright = ImageOps.exif_transpose(image).convert("RGBA")
    if upright.width < WIDTH or upright.height < HEIGHT:
        upright.thumbnail(SIZE, Image.Resampling.LANCZOS)
        return upright
    return ImageOps.fit(upright, SIZE, Image.Resampling.LANCZOS)


def _jpeg(picture: Image | None) -> bytes:
    """Return a picture in the middle of a white ground as JPEG."""
    from PIL import Image

    ground = Image.new("RGB", SIZE, "white")
    if picture is not None:
        place = ((WIDTH - picture.width) // 2, (HEIGHT - picture.height) // 2)
        ground.paste(picture, place, picture)
    output = io.BytesIO()
    ground.save(output, "JPEG", quality=_QUALITY)
    return output.getvalue()
