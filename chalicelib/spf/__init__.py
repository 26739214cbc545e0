"""SPF (RFC 7208): read the records of sending domains, and evaluate them for a sender."""
