"""Measure accepting a transmission with 10,000 recipients, and one with a single recipient.

The large request (about 5 MB) is compared with parsing its JSON and validating it with pydantic
alone: with Python's parser, to which the bar refers, and with pydantic's, which the service uses.
The three take turns, and the least processor time of each counts. AWS requests are counted, and
their time is subtracted. Memory is the peak of what Python allocates in addition to the body.
"""

from __future__ import annotations

import json
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

import pydantic
import pydantic_core

from chalicelib.api_keys import model as keys
from chalicelib.core import config_cache
from infrastructure.bootstrap import first_start
from tests.bench.local_cloud import counted, local_cloud

RECIPIENTS = 10_000
ROUNDS = 15
KEY = keys.draw_key()


class Address(pydantic.BaseModel):
    """An address as pydantic reads it."""

    email: str
    name: str | None = None


class Recipient(pydantic.BaseModel):
    """A recipient as pydantic reads it."""

    address: Address | str
    substitution_data: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    tags: list[str] = []


class Request(pydantic.BaseModel):
    """The request as pydantic reads it."""

    content: dict[str, Any]
    recipients: list[Recipient]


def main() -> None:
    """Measure and print the figures."""
    with local_cloud():
        first_start(KEY)
        import app

        body = _body()
        print(f"body: {len(body) / 1e6:.1f} MB, {RECIPIENTS} recipients")
        _post(app.app, body)
        baselines, fast_baselines, accepts, requests = [], [], [], []
        for _ in range(ROUNDS):
            baselines.append(_seconds(lambda: _validate(body, json.loads)))
            fast_baselines.append(_seconds(lambda: _validate(body, pydantic_core.from_json)))
            seconds, operations = _accept(app.app, body)
            accepts.append(seconds)
            requests.append(operations)
        baseline, fast_baseline, accept = map(min, (baselines, fast_baselines, accepts))
        print(f"JSON and pydantic alone: {baseline * 1000:.0f} ms", end="; ")
        print(f"with pydantic's parser: {fast_baseline * 1000:.0f} ms")
        text = f"accept, without AWS: {accept * 1000:.0f} ms"
        _line(text, accept / baseline, 1.5, "times JSON and pydantic alone")
        print(f"  {accept / fast_baseline:.2f} times that with pydantic's parser")
        _line(f"AWS requests: {dict(Counter(requests[0]))}", max(map(len, requests)), 30, "")
        _line("peak memory", _peak(app.app, body) / len(body), 6.0, "times the body")
        _one_recipient(app.app)


def _one_recipient(application: Any) -> None:
    small = _encode({"recipients": [{"address": "a@inbox.test"}], "content": _content()})
    config_cache.clear_cache()
    _, operations = _accept(application, small)
    _line(f"one recipient, nothing cached: {operations}", len(operations), 4, "requests")


def _line(text: str, figure: float, most: float, unit: str) -> None:
    verdict = "holds" if figure <= most else "FAILS"
    print(f"{text}: {figure:.2f} {unit} [{verdict}: at most {most:g}]")


def _validate(body: bytes, parse: Callable[[bytes], Any]) -> None:
    Request.model_validate(parse(body))


def _accept(application: Any, body: bytes) -> tuple[float, list[str]]:
    with counted() as requests:
        seconds = _seconds(lambda: _post(application, body))
    return seconds - requests.processor_seconds, requests.operations


def _seconds(call: Any) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _peak(application: Any, body: bytes) -> int:
    tracemalloc.start()
    try:
        _post(application, body)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _post(application: Any, body: bytes) -> None:
    from chalicelib.core.request import Request as HttpRequest

    request = HttpRequest(
        method="POST",
        path="/api/v1/transmissions",
        headers={"authorization": KEY, "content-type": "application/json"},
        raw_body=body,
    )
    from chalicelib.authentication.service import authenticate
    from chalicelib.transmissions.routes import create_transmission

    request.authenticated = authenticate(request)
    response = create_transmission(request)
    assert response.status == 200, response


def _body() -> bytes:
    recipients = [
        {
            "address": {"email": f"reader-{i}@inbox.test", "name": f"Reader Number {i}"},
            "substitution_data": {
                "first_name": f"Reader{i}",
                "city": "Reykjavík",
                "offers": [f"offer {i} {n} with a few words of text to read" for n in range(5)],
                "balance": i / 7,
                "vip": i % 7 == 0,
            },
            "metadata": {"customer": f"c-{i}", "segment": "newsletter"},
            "tags": ["news", "2026"],
        }
        for i in range(RECIPIENTS)
    ]
    return _encode({"recipients": recipients, "content": _content()})


def _content() -> dict[str, str]:
    html = "<html><body>" + "<p>Hello {{first_name}} of {{city}}</p>" * 100 + "</body></html>"
    return {"from": "news@example.test", "subject": "News for {{first_name}}", "html": html}


def _encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


if __name__ == "__main__":
    main()
