"""Read and build the parts of a mail message (RFC 5322, 2045, 2047, 2231); fast, without I/O."""
