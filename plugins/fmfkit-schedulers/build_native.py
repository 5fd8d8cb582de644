"""Compiles csrc/sets.c."""

from pathlib import Path

import cffi

ffi = cffi.FFI()
ffi.cdef(Path("csrc/sets.h").read_text("utf-8"))
ffi.set_source(
    "fmfkit_schedulers._native",
    '#include "sets.h"',
    sources=["csrc/sets.c"],
    depends=["csrc/sets.h"],
    include_dirs=["csrc"],
    extra_compile_args=["-O3", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"],
)
