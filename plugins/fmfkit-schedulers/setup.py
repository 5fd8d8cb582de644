"""Builds the native part; all else stands in pyproject.toml."""

from setuptools import setup

setup(cffi_modules=["build_native.py:ffi"])
