"""Let mail that was under way wait in the dead-letter queues of a restored database.

The machine of the backup may have sent this mail after the copy was made. `postfinch admin
redrive-dead-letters` lets it go on, once that is known. Until then the service sends only what is
new, and what was scheduled for later.

- Messages of the queues on the way of mail go to the dead-letter queue that their queue names.
- Scheduled transmissions that became due since the copy get the message that starts them, there.
- Events that are to be recorded, and batches for webhooks, are no mail: they go on.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from chalicelib.delivery import delivery_queues
from chalicelib.transmissions.submit import CONCERN, QUEUE, SMALL_SENDS, START, StartHead

_MAIL = (QUEUE, SMALL_SENDS, delivery_queues.QUEUE, delivery_queues.SMALL, delivery_queues.HELD)
_MAIL_QUEUE = re.compile(
    rf"postfinch-.+-({'|'.join(map(re.escape, _MAIL))}|{delivery_queues.OF_CONTAINERS}[\w-]+)"
)
_DECLARATIONS = "SELECT value FROM documents WHERE service = 'sqs' AND attribute = 'queues'"
_NUMBERS = "SELECT url, number FROM queues"
# A dead letter is kept as long as if it had come now
_MOVE = (
    "UPDATE messages SET queue = :target, receipt = NULL, receive_count = 0, sent_at = :now, "
    "visible_at = :now WHERE queue = :source"
)
_ADD = (
    "INSERT INTO messages (queue, id, sent_at, visible_at, receive_count, body, md5, rest) "
    "VALUES (?, ?, ?, ?, 0, ?, ?, '{}')"
)
_CONFIG = "SELECT number FROM tables WHERE name LIKE 'postfinch-%-config'"


def hold(database: Path, now: float) -> int:
    """Let the mail under way wait, all or none of it; return the number of queue messages.

    ``now`` is in epoch seconds. Raises sqlite3.Error.
    """
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        count = 0
        dead_letter_queues = _dead_letter_queues(connection)
        for source, target in dead_letter_queues.values():
            values = {"source": source, "target": target, "now": now}
            count += connection.execute(_MOVE, values).rowcount
        for name, (_, target) in dead_letter_queues.items():
            if name.endswith(f"-{SMALL_SENDS}"):
                count += _hold_starts(connection, target, now)
        connection.execute("COMMIT")
    return count


def _dead_letter_queues(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Return the numbers of each queue on the way of mail and of its dead-letter queue, by name."""
    numbers = {url.rpartition("/")[2]: number for url, number in connection.execute(_NUMBERS)}
    pairs: dict[str, tuple[int, int]] = {}
    for (value,) in connection.execute(_DECLARATIONS):
        attributes = json.loads(value).get("attributes", {})
        name = _name(attributes.get("QueueArn", ""))
        policy = json.loads(attributes.get("RedrivePolicy") or "{}")
        target = _name(policy.get("deadLetterTargetArn", ""))
        if _MAIL_QUEUE.fullmatch(name) and name in numbers and target in numbers:
            pairs[name] = (numbers[name], numbers[target])
    return pairs


def _name(arn: str) -> str:
    return arn.rpartition(":")[2]


def _hold_starts(connection: sqlite3.Connection, target: int, now: float) -> int:
    """Let the starts of due transmissions wait in the queue ``target``; return their number."""
    count = 0
    for (table,) in connection.execute(_CONFIG).fetchall():
        due = f"FROM items_{table} WHERE pk = ? AND sk < ?"
        keys = (f"due#{CONCERN}", f"{int(now * 1000) + 1:013d}")
        for (key,) in connection.execute(f"SELECT sk {due}", keys).fetchall():
            head: StartHead = {"kind": START, "transmission": key.partition("#")[2]}
            body = json.dumps({"head": head}, separators=(",", ":"))
            digest = hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
            connection.execute(_ADD, (target, str(uuid4()), now, now, body, digest))
            count += 1
        connection.execute(f"DELETE {due}", keys)
    return count
