"""Run the local cloud: ``python -m infrastructure.local.cloud --port N --data DIR``."""

from infrastructure.local.cloud.server import main

if __name__ == "__main__":
    main()
