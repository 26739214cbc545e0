"""How many resources of each kind a caller has (``/counts``)."""
