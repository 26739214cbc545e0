"""Read HTTP/1.1 with httptools, also from clients that offer to change to another protocol.

A request that is no valid HTTP gets 400, with a body like that of other errors. That includes one
without exactly one ``Host`` (RFC 9112 3.2): who reads another of two would act for another site.

``java.net.http.HttpClient`` offers HTTP/2 (``Upgrade: h2c``) with each request by ``http``. A
server may ignore that (RFC 9110 7.8), but the parser takes what follows the headers for the other
protocol, so the request would lose its body. Here it is parsed again, without the offer.

Fields after a chunked body are dropped (RFC 9110 6.5.1): they are no headers, and one among the
headers would come after all checks of these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chalicelib.core.reply import SECURITY_HEADERS
from infrastructure.local.gateway.replies import error_body

_CLOSING_SECONDS = 0.5
# Octets of a request line with its headers, which come in several pieces: parsing a line without
# an end takes time that grows with its square
_MOST_HEAD = 512 * 1024
_OFFER = (b"upgrade", b"http2-settings")
# RFC 3986 3.2.2 and 3.2.3
_HOST: Final = re.compile(
    rb"(?:\[[0-9A-Za-z:.]+\]|[0-9A-Za-z\-._~%!$&'()*+,;=]*)(?::[0-9]*)?", re.ASCII
)


class MalformedRequest(Exception):
    """The request is no valid HTTP; the text says why."""


class HttpProtocol(HttpToolsProtocol):
    """A connection of the HTTP server."""

    #: Whether a request may begin a WebSocket (RFC 6455)
    takes_websockets = False
    _in_head = False
    _head_octets = 0

    def data_received(self, data: bytes) -> None:
        """Parse what the client sent."""
        self._unset_keepalive_if_required()
        size = len(data)
        while data:
            data = self._parse(data)
        self._head_octets = self._head_octets + size if self._in_head else 0
        if self._head_octets > _MOST_HEAD and not self.transport.is_closing():
            self.send_400_response("the headers of the request are too long")

    def shutdown(self) -> None:
        """Close the connection, once its response is complete.

        Under TLS that waits until the client closes too, and an idle client may read nothing.
        """
        is_idle = self.cycle is None or self.cycle.response_complete
        super().shutdown()
        if is_idle and self.scheme == "https":
            self.loop.call_later(_CLOSING_SECONDS, self.transport.abort)

    def on_message_begin(self) -> None:
        """Begin a request; its headers come first."""
        super().on_message_begin()
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header, without the blanks around its value (RFC 9110 5.5)."""
        if self._in_head:
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Start to handle a request, unless it will be parsed again."""
        self._in_head = False
        if not self._is_offer():
            self._check_host()
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the body is complete, unless the request will be parsed again."""
        if not self._is_offer():
            super().on_message_complete()

    def _parse(self, data: bytes) -> bytes:
        """Return what remains to be parsed."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            fault = error.__context__
            is_ours = isinstance(fault, MalformedRequest)
            self.send_400_response(str(fault) if is_ours else "the request is no valid HTTP/1.1")
        except httptools.HttpParserUpgrade as upgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            elif self._is_offer():
                return self._without_offer() + data[upgrade.args[0] :]
        return b""

    def send_400_response(self, msg: str) -> None:
        """Refuse a request and close the connection, as nobody knows where the next one begins."""
        body = json.dumps(error_body(msg)).encode()
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **self.refusal_headers(),
        }
        lines = ["HTTP/1.1 400 Bad Request", *(f"{name}: {headers[name]}" for name in headers)]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()

    def refusal_headers(self) -> Mapping[str, str]:
        """Return further headers of the answer to what is no valid HTTP."""
        return SECURITY_HEADERS

    def _check_host(self) -> None:
        """Raise :class:`MalformedRequest` unless there is one ``Host``, and it names a host."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts and self.parser.get_http_version() == "1.0":
            return
        if len(hosts) != 1:
            raise MalformedRequest(f"the request has {len(hosts)} Host headers, and needs one")
        if not _HOST.fullmatch(hosts[0]):
            raise MalformedRequest("Host is not a host name with or without a port")

    def _should_upgrade_to_ws(self) -> bool:
        """Tell whether a WebSocket may begin; what it takes is imported with the first one."""
        if self.takes_websockets and self.ws_protocol_class is None:
            from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

            self.ws_protocol_class = WSProtocol
        return self.takes_websockets

    def _is_offer(self) -> bool:
        if self._should_upgrade():
            return False
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
