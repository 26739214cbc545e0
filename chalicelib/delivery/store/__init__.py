"""Keep the work units of delivery with their leases, and the journal of attempts."""
