"""Read HTTP/1.1 with httptools, also from clients that offer to change to another protocol.

``java.net.http.HttpClient`` offers HTTP/2 (``Upgrade: h2c``) with each request by ``http``. A
server may ignore that (RFC 9110 7.8), but the parser takes what follows the headers for the other
protocol, so the request would lose its body. Here it is parsed again, without the offer.
"""

from __future__ import annotations

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_CLOSING_SECONDS = 0.5
_OFFER = (b"upgrade", b"http2-settings")


class HttpProtocol(HttpToolsProtocol):
    """A connection of the HTTP server."""

    def data_received(self, data: bytes) -> None:
        """Parse what the client sent."""
        self._unset_keepalive_if_required()
        while data:
            data = self._parse(data)

    def shutdown(self) -> None:
        """Close the connection, once its response is complete.

        Under TLS that waits until the client closes too, and an idle client may read nothing.
        """
        is_idle = self.cycle is None or self.cycle.response_complete
        super().shutdown()
        if is_idle and self.scheme == "https":
            self.loop.call_later(_CLOSING_SECONDS, self.transport.abort)

    def on_headers_complete(self) -> None:
        """Start to handle a request, unless it will be parsed again."""
        if not self._is_offer():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the body is complete, unless the request will be parsed again."""
        if not self._is_offer():
            super().on_message_complete()

    def _parse(self, data: bytes) -> bytes:
        """Return what remains to be parsed."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        except httptools.HttpParserUpgrade as upgrade:
            if self._is_offer():
                return self._without_offer() + data[upgrade.args[0] :]
        return b""

    def _is_offer(self) -> bool:
        return self.parser.should_upgrade() and any(name == b"upgrade" for name, _ in self.headers)

    def _without_offer(self) -> bytes:
        """Return the request line and the headers without the offer, for a new parser."""
        version = self.parser.get_http_version().encode()
        lines = [self.parser.get_method() + b" " + self.url + b" HTTP/" + version]
        for name, value in self.headers:
            if name == b"connection":
                tokens = [token.strip() for token in value.split(b",")]
                value = b", ".join(each for each in tokens if each.lower() not in _OFFER)
            if name not in _OFFER and value:
                lines.append(name + b": " + value)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return b"\r\n".join(lines) + b"\r\n\r\n"
