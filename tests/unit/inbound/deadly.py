"""Functions for a process of its own, which end it. It starts soon: nothing is imported here."""

import json
import os


def die(argument: bytes) -> bytes:
    """End the process, as a fault in a library does."""
    os.abort()


def fail(argument: bytes) -> bytes:
    """Fail, as a fault in this code does."""
    raise KeyError(argument)


def die_of_poison(argument: bytes) -> bytes:
    """Read the file of a message; one kind ends the process."""
    with open(json.loads(argument)[0], "rb") as file:
        if b"poison" in file.read():
            os.abort()
    return b""
