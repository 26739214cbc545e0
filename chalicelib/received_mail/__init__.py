"""Received mail: the messages that inbound domains received, for ten days, with their parts."""
