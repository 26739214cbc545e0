from __future__ import annotations

import pytest

from infrastructure.local.mailpit.embedding import embedded

_WINDOW = 'target="_blank" rel="noreferrer noopener"'


@pytest.mark.parametrize(
    ("html", "result"),
    [
        ('<a href="/x">x</a>', f'<a {_WINDOW} href="/x">x</a>'),
        ('<A\nhref="/x">x</A>', f'<A {_WINDOW}\nhref="/x">x</A>'),
        ("<a>x</a>", f"<a {_WINDOW}>x</a>"),
        ('<a target="_self" href="/x">x</a>', f'<a {_WINDOW} target="_self" href="/x">x</a>'),
        ("<abbr>x</abbr><article></article>", "<abbr>x</abbr><article></article>"),
    ],
)
def test_links_open_in_a_window_of_their_own(html: str, result: str) -> None:
    assert embedded(html) == result
