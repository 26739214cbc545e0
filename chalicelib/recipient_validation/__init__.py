"""Tell whether mail to an address is likely to arrive (``/recipient-validation``)."""
