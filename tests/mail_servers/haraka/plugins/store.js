// Take mail to inbox.test, and store each message as a file of the maildir that MAILDIR names.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

exports.hook_mail = (next) => next(OK);

exports.hook_rcpt = (next, connection, params) => {
  const recipient = params[0];
  if (recipient.host !== "inbox.test") return next(DENY, "relay not permitted");
  if (recipient.user === "missing") return next(DENY, "5.1.1 Unknown user");
  if (recipient.user === "later") return next(DENYSOFT, "4.2.0 Try again");
  if (recipient.user === "slow") connection.notes.tarpit = 1;
  next(OK);
};

exports.hook_queue = (next, connection) => {
  const { transaction } = connection;
  const name = `${transaction.uuid}.message`;
  const file = fs.createWriteStream(path.join(process.env.MAILDIR, "tmp", name));
  file.on("error", (error) => next(DENYSOFT, error.message));
  file.on("close", () => {
    fs.renameSync(
      path.join(process.env.MAILDIR, "tmp", name),
      path.join(process.env.MAILDIR, "new", name),
    );
    next(OK);
  });
  transaction.message_stream.pipe(file);
};
