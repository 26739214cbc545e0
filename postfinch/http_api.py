"""Call the HTTP API of a service, and the routes that only a local service has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urljoin

import urllib3

Json = Any

_PATIENCE = urllib3.Timeout(connect=10, read=60)
# The tools of an assistant call at the same time
_CONNECTIONS = 10


class ApiError(Exception):
    """The service refused a request; ``status`` and ``errors`` are as the API has them."""

    def __init__(self, status: int, errors: list[dict[str, Any]]) -> None:
        self.status = status
        self.errors = errors
        texts = [": ".join(filter(None, (e.get("message"), e.get("description")))) for e in errors]
        super().__init__("; ".join(filter(None, texts)) or f"the service answered {status}")


class Unreachable(Exception):
    """Nothing answers at the service's address."""


class Api:
    """The API at ``url`` with one key; a subaccount's number acts for that subaccount."""

    def __init__(self, url: str, key: str, subaccount: int | None = None) -> None:
        self.url = url.rstrip("/")
        self.key = key
        self.subaccount = subaccount
        self._pool = urllib3.PoolManager(timeout=_PATIENCE, retries=False, maxsize=_CONNECTIONS)
        self._headers = {"Authorization": key}
        if subaccount is not None:
            # The second spelling is that of the vendor, whose accounts can be imported
            for name in ("X-SVC-SUBACCOUNT", "X-MSYS-SUBACCOUNT"):
                self._headers[name] = str(subaccount)

    def get(self, path: str, **query: Any) -> Json:
        """Return the answer to GET: its ``results``, or all of it where there are none."""
        return self.request("GET", path, query=query)

    def post(self, path: str, body: Json = None, **query: Any) -> Json:
        """Return the answer to POST."""
        return self.request("POST", path, body, query)

    def post_once(self, path: str, body: Json, key: str) -> Json:
        """Return the whole answer to POST with an idempotency key: repeated, it has one effect."""
        headers = {"Idempotency-Key": key}
        return _parsed(self._answer("POST", path, body, None, headers), self.url)

    def put(self, path: str, body: Json = None, **query: Any) -> Json:
        """Return the answer to PUT."""
        return self.request("PUT", path, body, query)

    def delete(self, path: str, body: Json = None, **query: Any) -> Json:
        """Return the answer to DELETE."""
        return self.request("DELETE", path, body, query)

    def request(
        self, method: str, path: str, body: Json = None, query: Mapping[str, Any] | None = None
    ) -> Json:
        """Call ``/api/v1<path>`` and return the ``results``; raises ApiError and Unreachable.

        A path that starts with ``/local`` is one of the local service's own routes; one that starts
        with ``/api/`` is outside of version 1, as that of snippets.
        """
        document = self.document(method, path, body, query)
        if isinstance(document, dict) and "results" in document:
            return document["results"]
        return document

    def document(
        self, method: str, path: str, body: Json = None, query: Mapping[str, Any] | None = None
    ) -> Json:
        """Return the whole answer, as parsed JSON; ``None`` if it is empty."""
        return _parsed(self._answer(method, path, body, query), self.url)

    def content(self, path: str) -> bytes:
        """Return the bytes at a path, whatever they are; large ones may be at another address."""
        response = self._answer("GET", path, None, None)
        if address := response.get_redirect_location():
            response = self._send("GET", urljoin(self.url, address))
            if response.status >= 400:
                raise ApiError(response.status, _errors(response.data))
        return bytes(response.data)

    def upload(self, path: str, content: bytes, content_type: str, **query: Any) -> Json:
        """Return the answer to POST with bytes as its body."""
        headers = {**self._headers, "Content-Type": content_type}
        address = self._address(path, query)
        response = self._send("POST", address, body=content, headers=headers)
        if response.status >= 400:
            raise ApiError(response.status, _errors(response.data))
        return _parsed(response, self.url)

    def events(self, path: str, **query: Any) -> Iterator[tuple[str, Json]]:
        """Yield name and data of each server-sent event, for as long as the service sends any."""
        headers = {**self._headers, "Accept": "text/event-stream"}
        response = self._send("GET", self._address(path, query), headers=headers, stream=True)
        if response.status >= 400:
            raise ApiError(response.status, _errors(response.data))
        name = "message"
        try:
            for line in _lines(response):
                if line.startswith("event:"):
                    name = line.removeprefix("event:").strip()
                elif line.startswith("data:"):
                    yield name, json.loads(line.removeprefix("data:"))
                    name = "message"
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self.url} ended the stream: {error}") from error
        finally:
            response.close()

    def date(self) -> str | None:
        """Return the header ``Date`` of an answer; raises Unreachable."""
        response = self._send("GET", self._address("/", None), headers=self._headers)
        return response.headers.get("Date")

    def _answer(
        self,
        method: str,
        path: str,
        body: Json,
        query: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None = None,
    ) -> urllib3.BaseHTTPResponse:
        response = self._send(
            method,
            self._address(path, query),
            json=body if body is not None else None,
            headers={**self._headers, **(headers or {})},
        )
        if response.status >= 400:
            raise ApiError(response.status, _errors(response.data))
        return response

    def _send(
        self, method: str, address: str, *, stream: bool = False, **arguments: Any
    ) -> urllib3.BaseHTTPResponse:
        try:
            return self._pool.request(method, address, preload_content=not stream, **arguments)
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self.url} does not answer: {error}") from error

    def _address(self, path: str, query: Mapping[str, Any] | None) -> str:
        base = self.url if path.startswith(("/local", "/api/")) else f"{self.url}/api/v1"
        values = {name: value for name, value in (query or {}).items() if value is not None}
        return f"{base}{path}?{urlencode(values, doseq=True)}" if values else f"{base}{path}"


def _parsed(response: urllib3.BaseHTTPResponse, url: str) -> Json:
    """Return the JSON of an answer, ``None`` if it is empty; raises Unreachable if it is none."""
    try:
        return json.loads(response.data) if response.data else None
    except ValueError:
        raise Unreachable(f"{url} does not answer as a service does") from None


def _errors(data: bytes) -> list[dict[str, Any]]:
    try:
        errors = json.loads(data)["errors"]
    except (ValueError, KeyError, TypeError):
        return [{"message": data[:200].decode("utf-8", "replace")}]
    return [error for error in errors if isinstance(error, dict)]


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[str]:
    rest = b""
    for piece in response.stream(4096):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode("utf-8").rstrip("\r")
