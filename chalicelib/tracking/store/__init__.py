"""Where tracking keeps what it knows of messages."""
