"""Store accounts, and count their usage against the limits of their plans."""
