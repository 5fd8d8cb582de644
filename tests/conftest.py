"""Settings of all tests."""

from hypothesis import settings

settings.register_profile("any-machine", deadline=None)  # a slow machine is no mistake
settings.load_profile("any-machine")
