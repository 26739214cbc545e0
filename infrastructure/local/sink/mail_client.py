"""Do with a message what a recipient's mail client does: load images, follow a link, unsubscribe.

Requests go to loopback only. A name under `localhost` or `test` means this machine (RFC 6761), as
do the names in `LOCAL_NAMES`, and an address must be a loopback address. Any other name is looked
up in the local DNS, which asks no other server; it must lead to a loopback address there, as a
customer's tracking domain does.
"""

import http.client
import ipaddress
import re
import ssl
import string
from collections.abc import Collection
from urllib.parse import quote, urlsplit

from infrastructure.local.mailbox.header_fields import field, header_block
from infrastructure.local.messages.html import Html, text_links
from infrastructure.local.messages.parts import HTML, TEXT, StoredMessage
from infrastructure.local.sink.local_names import AddressLookup, no_addresses

ONE_CLICK = "List-Unsubscribe=One-Click"
USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.0"
TIMEOUT_SECONDS = 5.0


class NotLoopback(Exception):
    """The URL does not lead to this machine, so it was not fetched."""


def one_click_url(message: bytes) -> str | None:
    """The http(s) URL of List-Unsubscribe, if the message declares one-click (RFC 8058)."""
    headers = header_block(message)
    if field(headers, "List-Unsubscribe-Post").lower() != ONE_CLICK.lower():
        return None
    match = re.search(r"<\s*(https?://[^<>\s]+)\s*>", field(headers, "List-Unsubscribe"), re.I)
    return match[1] if match else None


class MailClient:
    """Loads what leads to this machine.

    `addresses_of` looks up names in the local DNS; `names` are further ones of this machine.
    """

    def __init__(
        self, addresses_of: AddressLookup = no_addresses, names: Collection[str] = ()
    ) -> None:
        self._addresses_of = addresses_of
        self._names = names

    def image_urls(self, message: bytes) -> list[str]:
        """The images of the html part that lead to this machine, such as open pixels."""
        images = Html(StoredMessage(message).body(HTML) or "").images
        return [image.url for image in images if self.leads_here(image.url)]

    def first_link(self, message: bytes) -> str | None:
        """The first link that leads to this machine, as tracked ones do; html before text."""
        content = StoredMessage(message)
        links = [link.url for link in Html(content.body(HTML) or "").links]
        links = links or text_links(content.body(TEXT) or "")
        return next((url for url in links if self.leads_here(url)), None)

    def leads_here(self, url: str) -> bool:
        """Whether `fetch` would fetch the URL."""
        try:
            self._loopback_address(url)
        except NotLoopback:
            return False
        return True

    def fetch(self, url: str, form: str | None = None) -> int:
        """GET the URL, or POST a form to it; the status. Redirects are not followed.

        Raises NotLoopback before anything is sent, OSError or HTTPException when the request fails.
        """
        address, parts = self._loopback_address(url), urlsplit(url)
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            # A certificate on this machine is self-signed at best, and the address is checked.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection = http.client.HTTPSConnection(
                address, parts.port, timeout=TIMEOUT_SECONDS, context=context
            )
        else:
            connection = http.client.HTTPConnection(address, parts.port, timeout=TIMEOUT_SECONDS)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Host": parts.netloc.rpartition("@")[2], "User-Agent": USER_AGENT}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            connection.request(
                "GET" if form is None else "POST", quote(target, string.punctuation), form, headers
            )
            return connection.getresponse().status
        finally:
            connection.close()

    def _loopback_address(self, url: str) -> str:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname or "", parts.port
        except ValueError as error:
            raise NotLoopback(url) from error
        if parts.scheme not in ("http", "https"):
            raise NotLoopback(url)
        if host.rstrip(".").rpartition(".")[2] in ("localhost", "test") or host in self._names:
            return "127.0.0.1"
        try:
            addresses = [str(ipaddress.ip_address(host))]
        except ValueError:
            addresses = self._addresses_of(host)
        loopback = (each for each in addresses if ipaddress.ip_address(each).is_loopback)
        if (address := next(loopback, None)) is None:
            raise NotLoopback(url)
        return address
