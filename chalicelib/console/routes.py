"""Serve the console: static files that use the API as any other client does.

Only relative URLs are used, because the stage of API Gateway is part of the path. The page runs no
script but its own files, loads nothing from elsewhere, and is shown in no frame. The frame for the
preview of mail is the exception: the console shows it, in a sandbox with an origin of its own.
"""

from __future__ import annotations

from typing import Final

from chalicelib import __version__
from chalicelib.console import files
from chalicelib.console.files import DOCS, PREFIX
from chalicelib.core.errors import NotFound
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, raw, redirect
from chalicelib.core.settings import settings

_MAIN_PAGE: Final = "index.html"

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# The frame's script shows the mail in another frame, which inherits this policy and runs no script
_MAIL_FRAME: Final = "mail-frame.html"
_MAIL_POLICY: Final = (
    "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "script-src 'self'; style-src 'unsafe-inline'; img-src data:{images}; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Vary": "Accept-Encoding",
}

routes = Routes(__name__)


@routes.get(PREFIX, grant=PUBLIC)
def show_console(request: Request) -> Reply:
    """Show the console; without the slash at the end, lead to the path with it."""
    if not request.path.endswith("/"):
        _refuse_if_off()
        return redirect("console/")
    return _reply(request, _MAIN_PAGE)


@routes.get(DOCS, grant=PUBLIC)
def show_docs(request: Request) -> Reply:
    """Lead to the console's page about the API."""
    _refuse_if_off()
    return redirect(f"{'../' if request.path.endswith('/') else ''}console/#/api")


@routes.get(f"{PREFIX}/service.json", grant=PUBLIC)
def show_service(request: Request) -> Reply:
    """Tell the console which service it belongs to."""
    _refuse_if_off()
    return Reply(200, {"version": __version__, "stage": settings().stage}, _HEADERS)


@routes.get(f"{PREFIX}/{{name}}", grant=PUBLIC)
def show_file(request: Request, name: str) -> Reply:
    """Return a file of the console."""
    return _reply(request, name)


@routes.get(f"{PREFIX}/{{name}}/{{file}}", grant=PUBLIC)
def show_file_of_folder(request: Request, name: str, file: str) -> Reply:
    """Return a file of one of the console's folders."""
    return _reply(request, name, file)


def _reply(request: Request, *names: str) -> Reply:
    _refuse_if_off()
    file = files.read(*names)
    if file is None:
        raise NotFound
    headers = {**_HEADERS, "ETag": file.etag}
    if names == (_MAIL_FRAME,):
        remote = request.query.get("images") == "remote"
        images = " http: https:" if remote else ""
        headers["Content-Security-Policy"] = _MAIL_POLICY.format(images=images)
    if file.etag in request.headers.get("if-none-match", ""):
        return Reply(304, b"", headers)
    if "gzip" in request.headers.get("accept-encoding", "").lower():
        return raw(file.packed, file.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return raw(file.content, file.media_type, headers=headers)


def _refuse_if_off() -> None:
    if not settings().console:
        raise NotFound
