"""Relay webhooks: URLs to which received mail is posted, one for each inbound domain."""
