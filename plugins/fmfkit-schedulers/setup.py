"""Builds the native part; all else stands in pyproject.toml."""

from setuptools import setup

# one wheel for every Python from 3.11 on
setup(cffi_modules=["build_native.py:ffi"], options={"bdist_wheel": {"py_limited_api": "cp311"}})
