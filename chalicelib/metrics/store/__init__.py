"""Keep the figures of metrics in the table ``metrics``.

Each module holds one entity, its keys and its access patterns: ``counters``, the ``pending`` deltas
that are not in them yet, and the ``dimension_values`` that mail had.
"""
