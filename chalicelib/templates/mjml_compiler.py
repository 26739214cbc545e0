"""Compile MJML with mrml, in a process of its own: its recursion can overrun the stack."""

from __future__ import annotations

from typing import Final

from chalicelib.core.confined import Confined


def compiled(source: bytes) -> bytes:
    """Return the HTML of MJML (both UTF-8); raises ``ValueError``."""
    # Imported here: it is a library of 2 MB, which few processes need
    import mjml

    # By default it has mail load fonts from a host that readers do not know
    return str(mjml.mjml2html(source.decode(), fonts={})).encode()


compile_mjml: Final = Confined(compiled, memory=1024 * 1024 * 1024, seconds=10.0)
