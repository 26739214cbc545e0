"""Message events: what happened to each message, kept for ten days. Spec 2.11 and 4.10."""
