"""Keep suppression entries: their items, lookup items and counts."""
