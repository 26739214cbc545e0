"""Let chosen mail of the mailbox out to real addresses; refuse mail by chance."""
