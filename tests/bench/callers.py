"""Measure what it costs to know who makes a request, by an API key and by a session's cookie.

A request that reads nothing is made in process. AWS requests are counted with nothing cached, and
again. Times are compared with an RSA-2048 signature in the same run. The bars of the key are what
it took before there were users (version 34da5a53: authenticating 0.034 of a signature, the whole
request 0.201), with a quarter and a seventh more for chance. The note of a key's last use, which is
made once an hour, is not in the figures.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from chalicelib.api_keys import model as keys
from chalicelib.authentication.service import authenticate
from chalicelib.core import clock, config_cache
from chalicelib.core.request import Request
from chalicelib.core.settings import settings
from chalicelib.dkim.key_pair import generate_key, read_private
from chalicelib.users import cookies
from chalicelib.users.model import ACTIVE, User, draw_id
from chalicelib.users.store import sessions, users
from infrastructure.bootstrap import ACCOUNT_ID, first_start
from tests.bench.local_cloud import counted, local_cloud
from tests.bench.timing import rates, verdict

PATH = "/api/v1/metrics"
KEY = keys.draw_key()
KEY_BAR = 0.039
WHOLE_BAR = 0.23
#: What a client library and a load balancer send
HEADERS = {
    "Host": "api.example.test",
    "Accept": "application/json",
    "Accept-Encoding": "gzip, deflate",
    "User-Agent": "python-requests/2.32",
    "Connection": "keep-alive",
    "X-Forwarded-For": "192.0.2.1",
    "X-Forwarded-Port": "443",
    "X-Forwarded-Proto": "https",
}


def main() -> None:
    """Print the figures with their bars."""
    os.environ.update(RATE_LIMIT_PER_SECOND="0", LOG_LEVEL="WARNING")
    settings.cache_clear()
    with local_cloud():
        first_start(KEY)
        import app

        callers = {"key": {"authorization": KEY}, "cookie": {"cookie": _cookie()}}
        for caller, headers in callers.items():
            _count(app.app, caller, headers)
        _measure(app.app, callers)


def _cookie() -> str:
    """Return the cookie of a signed-in administrator."""
    user = User(draw_id(), ACCOUNT_ID, "ann@acme.test", "admin", clock.now(), status=ACTIVE)
    users.create(user)
    secret, _ = sessions.begin(user, method="password", second_factor=True, ip="", agent="")
    return cookies.set_cookie(user, secret).partition(";")[0]


def _count(application: Any, name: str, headers: dict[str, str]) -> None:
    _call(application, headers)
    config_cache.clear_cache()
    for state, most in (("nothing cached", 1), ("cached", 0)):
        with counted() as requests:
            _call(application, headers)
        operations = requests.operations
        text = f"by {name}, {state}: {len(operations)} AWS requests {operations}"
        print(f"{text} [{verdict(len(operations) <= most)}: at most {most}]")


def _measure(application: Any, callers: dict[str, dict[str, str]]) -> None:
    private = read_private(generate_key(2048).private_pem, check=False)
    tasks: dict[str, Callable[[], object]] = {
        "RSA": lambda: private.sign(b"x" * 700, PKCS1v15(), SHA256())
    }
    for name, headers in callers.items():
        request = Request(path=PATH, headers=headers)
        tasks[name] = lambda request=request: authenticate(request)
        tasks[f"whole {name}"] = lambda headers=headers: _call(application, headers)
    speeds = rates(tasks)
    print(f"an RSA-2048 signature takes {1e6 / speeds['RSA']:.0f} µs")
    bars = {"key": KEY_BAR, "whole key": WHOLE_BAR}
    for name in list(tasks)[1:]:
        share = speeds["RSA"] / speeds[name]
        text = f"{name}: {1e6 / speeds[name]:.1f} µs, {share:.3f} of a signature"
        bar = bars.get(name)
        print(text + (f" [{verdict(share <= bar)}: at most {bar}]" if bar else ""))


def _call(application: Any, headers: dict[str, str]) -> None:
    response = application(
        {
            "path": PATH,
            "multiValueHeaders": {name: [text] for name, text in (HEADERS | headers).items()},
            "requestContext": {
                "resourcePath": "/{proxy+}",
                "httpMethod": "GET",
                "requestId": "r",
                "identity": {"sourceIp": "192.0.2.1"},
            },
        },
        None,
    )
    assert response["statusCode"] == 200, response


if __name__ == "__main__":
    main()
