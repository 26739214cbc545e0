"""Run the sink: ``python -m infrastructure.local.sink --port N --data DIR``."""

from infrastructure.local.sink.server import main

if __name__ == "__main__":
    main()
