"""Keep templates: their records, their content, and leases of the transmissions using them."""
