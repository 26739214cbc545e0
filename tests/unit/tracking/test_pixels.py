from __future__ import annotations

import pytest

from chalicelib.tracking import pixels, tokens
from tests.unit.linear_time import assert_linear
from tests.unit.tracking.examples import BASE, issuer, message


def test_the_image_is_a_transparent_gif_of_one_pixel() -> None:
    assert len(pixels.GIF) == 43
    assert pixels.GIF[:10] == b"GIF89a\x01\x00\x01\x00"
    transparency = pixels.GIF.index(b"\x21\xf9\x04")
    assert pixels.GIF[transparency + 3] & 1
    assert pixels.GIF.endswith(b"\x3b")


@pytest.mark.parametrize(
    ("make", "amp", "kind"),
    [
        (pixels.open_pixel, False, "t/o"),
        (pixels.initial_pixel, False, "t/i"),
        (pixels.open_pixel, True, "t/ao"),
        (pixels.initial_pixel, True, "t/ai"),
    ],
)
def test_each_pixel_leads_to_its_endpoint(make: object, amp: bool, kind: str) -> None:
    assert callable(make)
    markup = "".join(make(BASE, issuer(), amp=amp))
    url = markup.split('src="')[1].split('"')[0]
    assert url.startswith(f"{BASE}/{kind}/")
    assert tokens.read(kind, url.rpartition("/")[2]) == (message(), None)
    assert markup.startswith("<amp-img " if amp else "<img ")


@pytest.mark.parametrize(
    ("prologue", "content"),
    [
        ("", "<p>Hi"),
        ("  <!DOCTYPE html>\n", "<p>Hi"),
        ("<html>", "<div>Hi</div></html>"),
        ('<!doctype html><HTML lang="en"><HEAD ><title>x</title></Head >', "Hi"),
        ("", "Hi <head>"),
    ],
)
def test_content_begins_after_the_prologue(prologue: str, content: str) -> None:
    assert pixels.content_start(prologue + content) == len(prologue)


def test_hostile_prologues_take_linear_time() -> None:
    for unit in (" ", "<!doctype ", "<html ", "<head>", "<head></head", "<html>"):
        assert_linear(pixels.content_start, unit * (200_000 // len(unit)))
