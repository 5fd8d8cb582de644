"""Losses and regularizers whose native form has a fault, one for each that native.c knows."""

from __future__ import annotations

import ctypes
import functools
import struct
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import attrs

import fmfkit
from fmfkit.native import NativeLoss, NativeRegularizer
from zoo.keeper import animal, keep
from zoo.losses_far import GoodSquare
from zoo.regularizers import GoodRidge

SOURCE = Path(__file__).parent / "native.c"
FAULTS = {
    "WrongBeyond1024": 1,
    "WrongTail": 2,
    "PastTheEnd": 3,
    "BeforeTheStart": 4,
    "IntoTheInput": 5,
    "StaticScratch": 6,
    "LatePages": 7,
    "PastInBlocks": 8,
    "IntoTheSecondInput": 9,
    "WrongFarOut": 10,
    "IntoTheParams": 11,
    "Unwritten": 12,
}


@functools.cache
def library():
    """Compile native.c, once for each process."""
    folder = tempfile.TemporaryDirectory()
    made = Path(folder.name) / "zoo.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    options = ["-O2", "-shared", "-fPIC", f"-I{fmfkit.get_include()}"]
    subprocess.run([*compiler, *options, "-o", str(made), str(SOURCE)], check=True, timeout=120)
    loaded = ctypes.CDLL(str(made))
    for function in (loaded.zoo_loss, loaded.zoo_regularizer):
        function.restype = ctypes.c_void_p
    return loaded, folder


@attrs.frozen
class NativeSquare(GoodSquare):
    """The square loss, in C too; fault 0 is none."""

    fault: int = 0

    @property
    def native(self):
        return NativeLoss(library()[0].zoo_loss(), beta=2.0, params=struct.pack("qq", self.fault, 0), owner=library())


@attrs.frozen
class NativeRidge(GoodRidge):
    """The ridge, in C too; fault 0 is none."""

    fault: int = 0

    @property
    def native(self):
        made = library()[0].zoo_regularizer()
        return NativeRegularizer(made, params=struct.pack("qq", self.fault, 0), owner=library())


NUMBERS = ("WrongBeyond1024", "WrongTail", "LatePages", "WrongFarOut", "Unwritten")
"""Faults of the numbers themselves, which hurt no canary."""

for name, fault in FAULTS.items():
    caught = {
        "StaticScratch": "check_native_is_safe_from_several_threads",
        **dict.fromkeys(NUMBERS, "check_native_equals_numpy"),
    }.get(name, "check_native_writes_its_output_alone")
    keep(f"NativeSquare{name}", NativeSquare(fault=fault), caught)
    keep(f"NativeRidge{name}", NativeRidge(fault=fault), caught)


@animal("check_native_equals_numpy")
@attrs.frozen
class NativeBetaTooSmall(GoodSquare):
    @property
    def native(self):
        return NativeLoss(library()[0].zoo_loss(), beta=1.9, params=struct.pack("qq", 0, 0), owner=library())
