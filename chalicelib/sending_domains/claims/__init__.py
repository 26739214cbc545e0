"""The claims of accounts on names: a domain and all below it belong to one account."""
