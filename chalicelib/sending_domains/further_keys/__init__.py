"""Further DKIM keys of a sending domain, beside the one that signs by default."""
