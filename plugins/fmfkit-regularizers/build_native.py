"""Compiles csrc/regularizers.c against fmfkit's header."""

import cffi

import fmfkit

TABLES = "const void *bounded(void); const void *mcp(void);"

ffi = cffi.FFI()
ffi.cdef(TABLES)
ffi.set_source(
    "fmfkit_regularizers._native",
    TABLES,
    sources=["csrc/regularizers.c"],
    include_dirs=[fmfkit.get_include()],
    extra_compile_args=["-O3", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"],
)
