"""Relay received mail: build what is posted to a relay webhook, and the events that tell of it."""
