"""What delivery stores: work units with their leases, and the journal of attempts."""
