"""What users of Postfinch install: the command ``postfinch`` and the fixture for pytest.

The service itself travels in the folder ``service`` of this package. None of its modules can be
imported from here: it runs in processes of its own, so that its names (``app``, ``relay``) and its
settings stay apart from those of the programs that use it.
"""

from postfinch.locations import version

__version__ = version()
