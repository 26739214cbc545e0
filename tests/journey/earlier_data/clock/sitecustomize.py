"""Shift the clock of every Python process that has this directory on PYTHONPATH.

``CLOCK_OFFSET`` is in seconds. Python imports this module at start, before any other module reads
the time.
"""

import os
import time

_OFFSET = float(os.environ["CLOCK_OFFSET"])
_time, _time_ns = time.time, time.time_ns

time.time = lambda: _time() + _OFFSET
time.time_ns = lambda: _time_ns() + int(_OFFSET * 1e9)
