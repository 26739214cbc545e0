"""Create what a service on one machine needs before its first request, where it is missing.

``python -m infrastructure.machine.first_start`` reads the key of the first account from
``API_KEY``. It may run at each start.
"""

from __future__ import annotations

import os

from infrastructure.bootstrap import first_start


def main() -> None:
    """Create the first account, its key, and the service's own account and domain."""
    first_start(os.environ["API_KEY"], with_sample_domain=False)


if __name__ == "__main__":
    main()
