"""Notifications of Amazon SES: they become the events that reports make which come by mail."""
