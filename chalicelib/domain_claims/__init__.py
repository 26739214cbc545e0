"""The claims of accounts on domain names, and the names that the operator has blocked."""
