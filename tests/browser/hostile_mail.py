"""Mail that tries everything, and a server that notices what it fetches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from playwright.sync_api import FrameLocator, expect

from tests.browser.console import Console
from tests.journey.service import eventually

#: What the browser says about what the mail's policy blocked
REPORTS = ("violates the following Content Security Policy", "sandbox", "Blocked", "ERR_")
_REMOTE_IMAGES = {"/image.gif", "/srcset.gif", "/background", "/svg", "/poster", "/preload"}

HOSTILE = """<html><head><base href="{url}/base/">
<meta http-equiv="refresh" content="0;url={url}/refresh">
<link rel="stylesheet" href="{url}/style.css"><link rel="preload" as="image" href="{url}/preload">
<style>@import "{url}/import.css"; @font-face {{ font-family: x; src: url({url}/font) }}
body {{ background: url({url}/background); font-family: x }}
#cover {{ position: fixed; inset: -1000px; z-index: 999999; background: red }}</style>
<script>parent.postMessage("escaped", "*"); top.document.title = "escaped"</script>
<script src="{url}/script.js"></script></head>
<body onload="top.location = '{url}/onload'"><div id="cover"></div><p>Hostile text</p>
<img src="{url}/image.gif" onerror="top.location = '{url}/onerror'">
<img srcset="{url}/srcset.gif 1x"><video poster="{url}/poster" src="{url}/video" autoplay></video>
<iframe src="{url}/frame"></iframe><object data="{url}/object"></object><embed src="{url}/embed">
<svg><image href="{url}/svg" /><script>top.location = "{url}/svgscript"</script>
<animate attributeName="x" onbegin="top.location = '{url}/animate'" /></svg>
<form action="{url}/form" id="f"><input name="a" autofocus onfocus="document.forms[0].submit()">
<button>Send</button></form><a href="javascript:top.location='{url}/javascript'">Click me</a>
<details open ontoggle="top.location = '{url}/toggle'"></details></body></html>"""


@contextmanager
def stranger() -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server of a stranger, and the paths that were fetched from it."""
    paths: list[str] = []

    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/gif")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", paths
    server.shutdown()
    server.server_close()


def does_nothing(console: Console, mail: FrameLocator, paths: list[str]) -> None:
    """Try all that a reader may do in such a mail; remote images load when they are asked for."""
    page = console.page
    title = page.title()
    expect(mail.get_by_text("Hostile text")).to_be_attached()
    mail.get_by_role("button", name="Send").click(force=True)
    mail.get_by_role("link", name="Click me").click(force=True)
    for frame in page.frames:
        frame.wait_for_load_state()
    assert paths == []
    assert page.title() == title
    assert page.url.startswith(console.url)
    page.get_by_role("button", name="Load remote images").click()
    eventually(lambda: "/image.gif" in paths)
    assert set(paths) <= _REMOTE_IMAGES
