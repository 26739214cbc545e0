"""Check a machine on which the service runs, or is to run."""
