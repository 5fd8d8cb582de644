"""Compiles csrc/losses.c against fmfkit's header."""

import cffi

import fmfkit

TABLES = "const void *huber(void); const void *weighted_logistic(void); const void *ordinal(void);"

ffi = cffi.FFI()
ffi.cdef(TABLES)
ffi.set_source(
    "fmfkit_losses._native", TABLES, sources=["csrc/losses.c"], include_dirs=[fmfkit.get_include()],
    extra_compile_args=["-O3", "-Wall", "-Wextra", "-Werror"],
)  # fmt: skip
