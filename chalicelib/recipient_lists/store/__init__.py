"""Store recipient lists: their records, and the recipients apart from them."""
