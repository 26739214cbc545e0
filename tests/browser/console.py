"""Use the console as a person does, and notice what a browser complains about."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route, expect

from tests.journey.service import KEY, Service

WIDE = (1440, 900)
NARROW = (360, 780)
LOOKS = [(theme, size) for theme in ("light", "dark") for size in (WIDE, NARROW)]
# Longer than anything takes on a busy machine: only what never happens fails
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)

# The console has drawn the view at a new address once the listeners of `hashchange` have run
_GO = """hash => new Promise((done) => {
  const before = location.href;
  addEventListener("hashchange", () => setTimeout(done), { once: true });
  location.hash = hash;
  if (location.href === before) done();
})"""
# Only texts leave the page: all that axe tells of it takes the test longer than the page itself.
# Frames hold mail, which is not ours: they take no message from axe, and the browser says so.
_VIOLATIONS = """() => axe.run({ resultTypes: ["violations"], iframes: false })
  .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map((node) =>
    `${id}: ${node.target} ${node.html.slice(0, 120)} ${node.failureSummary.slice(0, 300)}`)))"""
_LOADED = """() => performance.getEntriesByType("resource").concat(
  performance.getEntriesByType("navigation")).map(each => [each.name, each.encodedBodySize])"""


class Tab:
    """One tab of a browser with the console at ``url``, signed in with ``key`` if it is not empty.

    Without a key, ``fragment`` is what follows the address, such as ``#invitation=TOKEN``;
    ``respond`` takes the browser's requests in place of the network.
    """

    def __init__(
        self,
        browser: Browser,
        url: str,
        *,
        key: str = KEY,
        theme: str = "light",
        size: tuple[int, int] = WIDE,
        scale: float = 1,
        respond: Callable[[Route], None] | None = None,
        fragment: str = "",
    ) -> None:
        self.url = url
        self.complaints: list[str] = []
        self.expected: tuple[str, ...] = ()
        width, height = size
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,  # type: ignore[arg-type]
            device_scale_factor=scale,
            reduced_motion="reduce",
            accept_downloads=True,
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if respond:
            self.page.route("**/*", respond)
        self.page.goto(f"{self.url}#key={quote(key, safe='')}" if key else self.url + fragment)

    def files(self) -> dict[str, int]:
        """Return the path and the compressed size of every file of the console that was loaded."""
        sizes = {urlsplit(name).path: size for name, size in self.page.evaluate(_LOADED)}
        return {path: size for path, size in sizes.items() if path.startswith("/console/")}

    def open(self, view: str) -> Page:
        """Go to a view, such as ``activity?events=bounce``, and wait for what it shows."""
        self.page.evaluate(_GO, f"#/{view}")
        expect(self.page.locator("h1").first).to_be_attached()
        expect(self.page.locator(".skeleton")).to_have_count(0)
        return self.page

    def violations(self) -> list[str]:
        """Return what axe finds on the page as it is now."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE_SCRIPT)
        violations: list[str] = self.page.evaluate(_VIOLATIONS)
        return violations

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))

    def close(self) -> None:
        """Close the tab; fail if the browser complained about anything."""
        # An answer that a test still asks for would fail the test after it
        self.page.unroute_all(behavior="ignoreErrors")
        self.context.close()
        assert not self.complaints, json.dumps(self.complaints, indent=1)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning") or _blocked_in_mail(message):
            return
        if _says_that_nobody_is_signed_in(message):
            return
        if not any(each in message.text for each in self.expected):
            self.complaints.append(f"{message.text} ({message.location.get('url')})")


class Console(Tab):
    """A tab with the console of a local service."""

    def __init__(
        self, browser: Browser, service: Service, *, host: str = "127.0.0.1", **options: Any
    ) -> None:
        self.service = service
        super().__init__(browser, f"http://{host}:{service.api_port}/console/", **options)


def _says_that_nobody_is_signed_in(message: ConsoleMessage) -> bool:
    """Tell whether this is the answer to who is signed in, which the browser reports by itself."""
    is_question = message.location.get("url", "").endswith("/api/v1/me")
    return is_question and "status of 401" in message.text


def _blocked_in_mail(message: ConsoleMessage) -> bool:
    """Tell whether this is of a mail: a script, or an image that the reader did not ask for."""
    url = message.location.get("url", "")
    in_frame = url == "about:srcdoc"  # of a received message
    if in_frame and "Blocked script execution" in message.text:
        return True
    in_mail = in_frame or "/local/mailbox/" in url
    return in_mail and 'directive: "img-src data:"' in message.text
