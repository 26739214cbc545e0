"""Count the AWS requests of changes by API key, to which the audit log adds none, and their time.

``BEFORE`` are the requests of the same changes before there was an audit log, with the key and the
account in the caches. The processor time of a change with its line is compared with that of the
same change without an author, and so without a line; the two take turns, and the least time of each
counts. The cloud is another process. A single send has no line, so its ratio is noise.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest import mock

from chalicelib.api_keys import model as keys
from infrastructure.bootstrap import first_start
from tests.bench.local_cloud import counted, local_cloud

ROUNDS = 60
ROUNDS_OF_LOADS = 8
WARM_UP = 5
LIST_RECIPIENTS = 1000
MOST_RATIO = 1.5
MOST_RATIO_WITHOUT_LINE = 1.15
KEY = keys.draw_key()

#: AWS requests of each change without the audit log
BEFORE = {
    "PUT template": 2,
    "PUT suppression entry": 3,
    "load of 1,000 suppression entries": 22,
    "single send": 2,
    "send to two": 2,
    "send to a list": 4,
}

Change = Callable[[int], None]


def main() -> None:
    """Measure and print the figures."""
    with local_cloud():
        first_start(KEY)
        changes = _changes()
        for name, change in changes.items():
            for number in range(WARM_UP):
                change(number)
            _print_requests(name, change)
            _print_time(name, change)


def _print_requests(name: str, change: Change) -> None:
    with counted() as requests:
        change(WARM_UP)
    count, before = len(requests.operations), BEFORE[name]
    verdict = "holds" if count <= before else "FAILS"
    operations = dict(Counter(requests.operations))
    print(f"{name}: {count} AWS requests [{verdict}: {before} before] {operations}")


def _print_time(name: str, change: Change) -> None:
    with_author, without = [], []
    for number in range(ROUNDS_OF_LOADS if name.startswith("load") else ROUNDS):
        with_author.append(_seconds(change, 100 + 2 * number))
        with mock.patch("chalicelib.core.http.author_of", return_value=None):
            without.append(_seconds(change, 101 + 2 * number))
    ratio = min(with_author) / min(without)
    most = MOST_RATIO_WITHOUT_LINE if name == "single send" else MOST_RATIO
    verdict = "holds" if ratio <= most else "FAILS"
    print(
        f"  {min(with_author) * 1000:.2f} ms, {min(without) * 1000:.2f} ms without an author: "
        f"{ratio:.2f} times [{verdict}: at most {most:g}]"
    )


def _seconds(change: Change, number: int) -> float:
    began = time.process_time()
    change(number)
    return time.process_time() - began


def _changes() -> dict[str, Change]:
    """Return the changes, each a function of a number that makes it another one."""
    from tests.unit.calling import Client

    client = Client(KEY)
    content = {"from": "me@example.test", "subject": "Hello", "html": "<p>Hello</p>" * 100}
    client.post("/api/v1/templates", {"id": "t", "content": content})
    readers = [{"address": f"reader-{n}@inbox.test"} for n in range(LIST_RECIPIENTS)]
    client.post("/api/v1/recipient-lists", {"id": "l", "recipients": readers})

    def put(path: str, body: Any) -> None:
        response = client.put(f"/api/v1/{path}", body)
        assert response.status == 200, response

    def send(recipients: Any) -> None:
        message = {"from": "me@example.test", "subject": "Hello", "text": "Hello"}
        body = {"recipients": recipients, "content": message}
        response = client.post("/api/v1/transmissions", body)
        assert response.status == 200, response

    def load(number: int) -> None:
        entries = [
            {"recipient": f"r{n}-{number}@x.test", "type": "transactional"} for n in range(1000)
        ]
        put("suppression-list", {"recipients": entries})

    return {
        "PUT template": lambda n: put(
            "templates/t", {"content": content | {"subject": f"No. {n}"}}
        ),
        "PUT suppression entry": lambda n: put(
            f"suppression-list/ann-{n}@x.test", {"type": "transactional"}
        ),
        "load of 1,000 suppression entries": load,
        "single send": lambda _: send([{"address": "you@inbox.test"}]),
        "send to two": lambda _: send([{"address": f"you{n}@inbox.test"} for n in range(2)]),
        "send to a list": lambda _: send({"list_id": "l"}),
    }


if __name__ == "__main__":
    main()
