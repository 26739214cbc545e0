"""Measure generating signed messages on one core: `python -m tests.bench.generation`.

The benchmark runs the service's generator: merging, rendering, tracked links and pixels, headers,
MIME, an RSA-2048 signature and the fields of the message's events. There are no tables: the items
that generation reads once for each chunk are passed in. A straightforward implementation
(``naive_generation``) runs beside it. The bar is ten times its messages for each CPU second.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from time import process_time
from typing import Any

import dkim as dkimpy
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from chalicelib.core import config_cache
from chalicelib.core.dynamo import Item, Key
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import KeyPair, generate_key, read_private
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.fleet import store as fleets
from chalicelib.generation import drafts
from chalicelib.generation.message import Generator
from chalicelib.generation.origin import Origin
from chalicelib.generation.tracking_decorator import MessageTracking
from chalicelib.sending_domains import store as domains
from chalicelib.transmissions.sender import keys_of_status
from tests.bench.naive_generation import NaiveGenerator
from tests.bench.sample_templates import JINJA, LINKS, OURS, Templates, newsletter, recipient
from tests.bench.sample_templates import notice as notice_of
from tests.bench.timing import rates
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import CREATED, make_transmission

NAME = "mail.example.test"
BAR = 10.0
#: Messages a second over RSA-2048 signatures a second of the same core
_SHARES = {"newsletter": 0.55, "notice": 0.70, "newsletter, own links": 0.45}
_TIMED = 400


def main() -> None:
    """Print messages per CPU second, the bar, each step's share, and the share of raw RSA."""
    os.environ["SECRET_KEY"] = base64.b64encode(bytes(32)).decode()
    pair = generate_key(2048)
    _measure("newsletter", newsletter(OURS), newsletter(JINJA), pair)
    _measure("notice", notice_of(OURS), notice_of(JINJA), pair)
    personal = newsletter(OURS, own_links=True), newsletter(JINJA, own_links=True)
    _measure("newsletter, own links", *personal, pair)


def _measure(name: str, ours: Templates, theirs: Templates, pair: KeyPair) -> None:
    generator = _generator(ours, pair)
    naive = NaiveGenerator(theirs, pair.private_pem)
    _check(generator, naive, pair, name)
    numbers = count()
    key = read_private(pair.private_pem, check=False)

    def task_of(make: Callable[[int, dict[str, Any]], object]) -> Callable[[], object]:
        def task() -> object:
            number = next(numbers)
            return make(number, recipient(number))

        return task

    speeds = rates(
        {
            "generator": task_of(generator.generate),
            "naive": task_of(naive.generate),
            "raw RSA": lambda: key.sign(b"x" * 700, PKCS1v15(), SHA256()),
            "recipients": lambda: recipient(1),
        },
        rounds=7,
    )
    ratio = speeds["generator"] / speeds["naive"]
    verdict = "holds" if ratio >= BAR else "FAILS"
    print(
        f"generation {name}: {speeds['generator']:,.0f} messages/s, "
        f"naive {speeds['naive']:,.0f}/s: x{ratio:.1f} [{verdict}: {BAR:.0f}]"
    )
    share = speeds["generator"] / speeds["raw RSA"]
    verdict = "holds" if share >= _SHARES[name] else "FAILS"
    print(
        f"  {share:.2f} of the rate of raw RSA-2048 signatures ({speeds['raw RSA']:,.0f}/s) "
        f"[{verdict}: {_SHARES[name]:.2f}]"
    )
    print("  " + ", ".join(f"{step} {part:.0%}" for step, part in _shares(generator).items()))


def _generator(templates: Templates, pair: KeyPair) -> Generator:
    """Return the generator of a chunk, with the items that it needs already read."""
    signing = sealed_key(pair, "s1", NAME)
    item = domains._to_item(domain(dkim=signing, is_default_bounce_domain=True))
    tables: dict[Key, Item] = {domains.key_of(NAME): item}
    config_cache.learn([fleets.key_of(1), *keys_of_status(1, None)], {})

    def read(keys: Iterable[Key]) -> Mapping[Key, Item]:
        return {key: tables[key] for key in keys if key in tables}

    content = {
        "from": {"name": "The Shop", "email": f"news@{NAME}"},
        "subject": templates.subject,
        "html": templates.html,
        "text": templates.text,
    }
    return Generator(make_transmission(content=content), CREATED, 0, read)


def _check(generator: Generator, naive: NaiveGenerator, pair: KeyPair, name: str) -> None:
    """Check both messages: signatures verify, and links and pixels are tracked."""
    record = txt_record(pair.public_b64).encode()
    messages = generator.generate(1, recipient(1)).data, naive.generate(1, recipient(1))
    for message in messages:
        if not dkimpy.verify(message, dnsfunc=lambda *_, **__: record):
            raise SystemExit(f"{name}: a signature does not verify")
    html = messages[0].replace(b"=\r\n", b"")
    if name != "notice" and html.count(b'href=3D"http://localhost:8080/t/c/') != LINKS:
        raise SystemExit(f"{name}: not all links are tracked")
    if html.count(b"/t/o/") != 1 or html.count(b"/t/i/") != 1 or b"List-Unsubscribe:" not in html:
        raise SystemExit(f"{name}: a pixel or a header is missing")


def _shares(generator: Generator) -> dict[str, float]:
    """Return the share of the time that each step takes, measured around each step."""
    spent: dict[str, float] = {}
    steps: list[tuple[Any, str, str]] = [
        (drafts, "render", "rendering"),
        (MessageTracking, "content", "links and pixels"),
        (drafts, "compose", "headers and MIME"),
        (Origin, "signed", "DKIM and report header"),
    ]
    originals = [getattr(owner, name) for owner, name, _ in steps]
    for (owner, name, step), function in zip(steps, originals, strict=True):
        setattr(owner, name, _timed(function, step, spent))
    try:
        began = process_time()
        for number in range(_TIMED):
            generator.generate(number, recipient(number))
        total_seconds = process_time() - began
    finally:
        for (owner, name, _), function in zip(steps, originals, strict=True):
            setattr(owner, name, function)
    spent["other work"] = total_seconds - sum(spent.values())
    return {step: each / total_seconds for step, each in spent.items()}


def _timed(function: Callable[..., Any], step: str, spent: dict[str, float]) -> Callable[..., Any]:
    spent[step] = 0.0

    def timed(*args: Any, **options: Any) -> Any:
        began = process_time()
        try:
            return function(*args, **options)
        finally:
            spent[step] += process_time() - began

    return timed


if __name__ == "__main__":
    main()
