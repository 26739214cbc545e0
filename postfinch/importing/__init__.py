"""Take what an account of another service has, and what other services export."""
