"""The service: a package for each feature, in the bands that ARCHITECTURE.md describes."""

import gc

# Python looks for cycles after every 700 new objects. What importing makes lives on, and looking at
# it again and again takes a tenth of a cold start.
gc.set_threshold(50_000, 20, 50)
