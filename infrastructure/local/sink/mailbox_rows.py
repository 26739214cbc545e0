"""Define the tables of the mailbox's index, their rows, and the conditions of a search."""

from typing import NamedTuple

SCHEMA_VERSION = 5


class Row(NamedTuple):
    """One message. `recipients`, `senders` and the casefolded `subjects` are its search texts.

    `senders` has lines for the address of From, for the field as people read it, and for the
    envelope sender (`search_texts`). `recipient` has all recipients of the envelope, with commas
    between them. `login` is the name that the sender logged in with. `given_tags` is a JSON array
    of the tags that the message was given here. `shown_size` counts the bytes that mail readers
    get, which tags do not change (`trace.shown`).
    """

    id: str
    recipient: str
    author: str
    subject: str
    size: int
    unread: bool
    inbox: str
    login: str
    given_tags: str
    recipients: str
    senders: str
    subjects: str
    shown_size: int


class Details(NamedTuple):
    """What parsing a message and the service's tables tell about it.

    `attachments` is their number. `message_id` and what follows it are the service's; a message
    that the service did not send has empty texts there. `subaccount_id` is 0 for none. `tags` is a
    JSON array. `tag_lines` (a line for each) and `body` are casefolded search texts.
    """

    id: str
    from_name: str
    snippet: str
    attachments: int
    message_id: str
    transmission_id: str
    subaccount_id: int
    campaign_id: str
    tags: str
    tag_lines: str
    body: str


class Inbox(NamedTuple):
    """The numbers of messages of an inbox; that of mail of no other one has an empty name."""

    name: str
    messages: int
    unread: int


class Condition(NamedTuple):
    """A condition of SQL on the columns of `messages`, and of `details` if `needs_details`."""

    sql: str
    values: tuple[str | int, ...] = ()
    needs_details: bool = False


def matches_line(text: str, pattern: str) -> bool:
    """Whether a line of `text` is `pattern`, in which `*` stands for any characters."""
    first, *others = pattern.split("*")
    if not others:
        return pattern in text.split("\n")
    return any(_matches(line, first, others) for line in text.split("\n"))


def _matches(line: str, first: str, others: list[str]) -> bool:
    last = others[-1]
    if not line.startswith(first) or not line.endswith(last):
        return False
    position, end = len(first), len(line) - len(last)
    for piece in others[:-1]:
        at = line.find(piece, position, end)
        if at < 0:
            return False
        position = at + len(piece)
    return position <= end


COLUMNS = ",".join(Row._fields)
# A row that another process has added already is the same, and keeps its `uid`
INSERT = (
    f"INSERT OR IGNORE INTO messages ({COLUMNS}, detailed)"
    f" VALUES ({','.join('?' * len(Row._fields))}, 0)"
)
INSERT_DETAILS = f"INSERT OR REPLACE INTO details VALUES ({','.join('?' * len(Details._fields))})"
# `uid` is never given twice, as long as the index is the same one: `origin` has when it was made
CREATE = f"""
BEGIN IMMEDIATE;
DROP TABLE IF EXISTS messages;
DROP TABLE IF EXISTS details;
DROP TABLE IF EXISTS origin;
CREATE TABLE origin (validity INTEGER NOT NULL);
INSERT INTO origin VALUES (strftime('%s', 'now'));
CREATE TABLE messages (
    uid INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, {",".join(f"{name} NOT NULL" for name in Row._fields[1:])},
    detailed INTEGER NOT NULL
);
CREATE INDEX messages_by_inbox ON messages (inbox, id, unread);
CREATE INDEX messages_without_details ON messages (id) WHERE NOT detailed;
CREATE TABLE details (
    id TEXT PRIMARY KEY, {",".join(f"{name} NOT NULL" for name in Details._fields[1:])}
) WITHOUT ROWID;
PRAGMA user_version={SCHEMA_VERSION};
COMMIT;
"""
