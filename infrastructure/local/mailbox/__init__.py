"""The mailbox of a machine: a Maildir folder, its index, and the language that searches it."""
