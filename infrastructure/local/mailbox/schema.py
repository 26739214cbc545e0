"""Define the tables of the mailbox's index.

They are in two files. `index.sqlite3` has what the process writes that takes a message: small rows,
and the numbers of messages of each inbox, which triggers keep. `details.sqlite3` is attached as
`extra`. It has what parsing tells, which is ten times as much; nothing in it is needed to list the
mailbox, and it begins anew whenever it does not belong to the index.
"""

from infrastructure.local.mailbox.rows import Details, Row

SCHEMA_VERSION = 6

_INSERTED = Row._fields[:-1]
COLUMNS = ",".join(Row._fields)
# A row that another process has added already is the same, and keeps its `uid`
INSERT = (
    f"INSERT INTO messages ({','.join(_INSERTED)}, detailed)"
    f" VALUES ({','.join('?' * len(_INSERTED))}, 0) ON CONFLICT (id) DO NOTHING"
)
# The search text is in a table of its own, so that rows of details stay small
SHOWN = Details._fields[:-1]
DETAIL_COLUMNS = ",".join(SHOWN)
INSERT_DETAILS = f"INSERT OR REPLACE INTO extra.details VALUES (?,{','.join('?' * len(SHOWN))})"
SEARCH_FIELDS = (
    *("attachments", "inlines", "subaccount_id", "by_service", "header_ids"),
    *("froms", "tos", "ccs", "bccs", "reply_tos", "unusual", "body_start"),
)
INSERT_FIELDS = (
    f"INSERT OR REPLACE INTO extra.search_fields VALUES (?,{','.join('?' * len(SEARCH_FIELDS))})"
)

# `uid` is never given twice, as long as the index is the same one: `epoch` has when it was made
CREATE = f"""
BEGIN IMMEDIATE;
DROP TABLE IF EXISTS messages;
DROP TABLE IF EXISTS inboxes;
DROP TABLE IF EXISTS message_tags;
DROP TABLE IF EXISTS epoch;
CREATE TABLE epoch (seconds INTEGER NOT NULL);
INSERT INTO epoch VALUES (CAST(strftime('%s', 'now') AS INTEGER));
CREATE TABLE messages (
    uid INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, {",".join(f"{name} NOT NULL" for name in _INSERTED[1:])},
    detailed INTEGER NOT NULL, subaccount INTEGER
);
CREATE INDEX messages_by_inbox ON messages (inbox);
CREATE INDEX messages_by_flag ON messages (unread);
CREATE INDEX messages_by_subaccount ON messages (subaccount) WHERE subaccount;
CREATE INDEX messages_without_details ON messages (uid) WHERE NOT detailed;
CREATE TABLE message_tags (
    uid INTEGER, folded TEXT, by_service INTEGER, tag TEXT NOT NULL,
    PRIMARY KEY (uid, folded, by_service)
) WITHOUT ROWID;
CREATE INDEX tags_by_name ON message_tags (folded, tag);
CREATE TABLE inboxes (
    is_subaccount INTEGER, name, messages INTEGER NOT NULL, unread INTEGER NOT NULL,
    PRIMARY KEY (is_subaccount, name)
) WITHOUT ROWID;
CREATE TRIGGER message_came AFTER INSERT ON messages BEGIN
    INSERT INTO inboxes VALUES (0, new.inbox, 1, new.unread) ON CONFLICT DO UPDATE
        SET messages = messages + 1, unread = unread + new.unread;
END;
CREATE TRIGGER message_went AFTER DELETE ON messages BEGIN
    UPDATE inboxes SET messages = messages - 1, unread = unread - old.unread
        WHERE is_subaccount = 0 AND name = old.inbox;
    UPDATE inboxes SET messages = messages - 1, unread = unread - old.unread
        WHERE is_subaccount = 1 AND name = old.subaccount;
    DELETE FROM inboxes WHERE is_subaccount = 0 AND name = old.inbox AND messages = 0;
    DELETE FROM inboxes WHERE is_subaccount = 1 AND name = old.subaccount AND messages = 0;
    DELETE FROM message_tags WHERE uid = old.uid;
END;
CREATE TRIGGER flag_changed AFTER UPDATE OF unread ON messages WHEN new.unread <> old.unread BEGIN
    UPDATE inboxes SET unread = unread + new.unread - old.unread
        WHERE is_subaccount = 0 AND name = new.inbox;
    UPDATE inboxes SET unread = unread + new.unread - old.unread
        WHERE is_subaccount = 1 AND name = new.subaccount;
END;
CREATE TRIGGER subaccount_found AFTER UPDATE OF subaccount ON messages
WHEN new.subaccount AND old.subaccount IS NULL BEGIN
    INSERT INTO inboxes VALUES (1, new.subaccount, 1, new.unread) ON CONFLICT DO UPDATE
        SET messages = messages + 1, unread = unread + new.unread;
END;
PRAGMA user_version={SCHEMA_VERSION};
COMMIT;
"""
CREATE_EXTRA = f"""
BEGIN IMMEDIATE;
CREATE TABLE extra.epoch (seconds INTEGER NOT NULL);
INSERT INTO extra.epoch SELECT seconds FROM main.epoch;
CREATE TABLE extra.details (uid INTEGER PRIMARY KEY, {DETAIL_COLUMNS});
CREATE TABLE extra.search_fields (uid INTEGER PRIMARY KEY, {",".join(SEARCH_FIELDS)});
CREATE TABLE extra.search_texts (uid INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE INDEX extra.with_attachments ON search_fields (uid) WHERE attachments;
CREATE INDEX extra.with_inlines ON search_fields (uid) WHERE inlines;
CREATE INDEX extra.with_unusual ON search_fields (uid) WHERE unusual;
CREATE TABLE extra.text_blocks (
    number INTEGER, kind INTEGER, members BLOB NOT NULL, words BLOB NOT NULL,
    PRIMARY KEY (number, kind)
);
CREATE TABLE extra.block_messages (id INTEGER PRIMARY KEY, messages BLOB NOT NULL);
PRAGMA extra.user_version={SCHEMA_VERSION};
COMMIT;
"""
