"""Settings of all tests."""

import os

from hypothesis import settings

# a slow machine is no mistake; and the same code is tried on the same problems, unless new ones are asked for
settings.register_profile("any-machine", deadline=None, derandomize="FMFKIT_EXPLORE" not in os.environ)
settings.load_profile("any-machine")
