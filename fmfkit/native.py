"""Losses and regularizers as native functions, which solvers call from their threads without Python.

C: include ``fmfkit.h`` from ``fmfkit.get_include()``, and hand the address of a ``fmfkit_loss`` to ``NativeLoss``.
numba: hand the addresses of ``cfunc`` functions to ``NativeLoss.of_functions``.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit.errors import PluginContractError
from fmfkit.typing import Reals

MAJOR, MINOR = 1, 0
"""The version of the interface; a table of another major version is refused."""

PRECISIONS = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


def get_include() -> str:
    """Return the folder of ``fmfkit.h``, for a plugin's compiler."""
    return str(Path(__file__).parent / "include")


def check_abi(abi: int) -> None:
    """Refuse a solver in C that was compiled against a header with more, or other, than this fmfkit has."""
    major, minor = divmod(abi, 1000)
    if major != MAJOR or minor > MINOR:
        raise PluginContractError(
            f"abi: the solver was compiled against version {major}.{minor} of fmfkit.h, this fmfkit has "
            f"{MAJOR}.{MINOR}; build the plugin against it"
        )


class _LossTable(ctypes.Structure):
    """fmfkit_loss of fmfkit.h."""

    _fields_: ClassVar = [
        ("magic", ctypes.c_uint32), ("abi_major", ctypes.c_uint16), ("abi_minor", ctypes.c_uint16),
        ("struct_size", ctypes.c_uint64), ("params_size", ctypes.c_uint64),
        *((f"{name}_{precision}", ctypes.c_void_p) for precision in ("f32", "f64")
          for name in ("value", "gradient", "curvature")),
    ]  # fmt: skip


class _RegularizerTable(ctypes.Structure):
    """fmfkit_regularizer of fmfkit.h."""

    _fields_: ClassVar = [
        *_LossTable._fields_[:5],
        *((f"{name}_{precision}", ctypes.c_void_p) for precision in ("f32", "f64") for name in ("T", "penalty")),
    ]  # fmt: skip


@attrs.frozen(eq=False)
class _Native:
    """What both have: the address of a table, the parameters its functions read, and what keeps them alive."""

    address: int = attrs.field(converter=int)
    params: bytes = attrs.field(default=b"", kw_only=True)
    """What the functions read at ``params``: a C struct's bytes, such as ``struct.pack("d", 1.5)``."""
    owner: Any = attrs.field(default=None, repr=False, kw_only=True)
    """Something that must live as long as the functions: the library they come from."""
    _room: Any = attrs.field(init=False, repr=False)

    magic: ClassVar[int]
    table_type: ClassVar[type[ctypes.Structure]]
    required: ClassVar[tuple[str, ...]]

    def __attrs_post_init__(self) -> None:
        """Refuse a table that the core could not call."""
        object.__setattr__(self, "_room", ctypes.create_string_buffer(self.params, max(len(self.params), 1)))
        what = type(self).__name__
        if not self.address:
            raise PluginContractError(f"{what}: the address is NULL")
        head = self.table_type.from_address(self.address)
        if head.magic != self.magic:
            raise PluginContractError(
                f"{what}: no table of fmfkit.h is there: it begins with {head.magic:#010x}, expected {self.magic:#010x}"
            )
        if head.abi_major != MAJOR:
            raise PluginContractError(
                f"{what}: the table is of version {head.abi_major}.{head.abi_minor} of the interface, this fmfkit has "
                f"{MAJOR}.{MINOR}; build the plugin against it"
            )
        if head.struct_size < ctypes.sizeof(self.table_type):
            raise PluginContractError(
                f"{what}: the table has {head.struct_size} bytes, version {MAJOR}.{MINOR} has "
                f"{ctypes.sizeof(self.table_type)}"
            )
        missing = [name for name in self.required if not getattr(head, name)]
        if missing:
            raise PluginContractError(f"{what}: functions are missing: {', '.join(missing)}")
        if head.params_size > len(self.params):
            raise PluginContractError(
                f"{what}: the functions read {head.params_size} bytes of parameters, {len(self.params)} were given"
            )

    @property
    def params_address(self) -> int:
        """Where the parameters stand."""
        return ctypes.addressof(self._room)

    @property
    def table(self) -> Any:
        """The table."""
        return self.table_type.from_address(self.address)

    def _call(self, name: str, dtype: np.dtype[Any], *arrays: NDArray[Any]) -> None:
        """Call a function of the table on arrays of one length."""
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays), ctypes.c_int64, ctypes.c_void_p)(
            getattr(self.table, f"{name}_{PRECISIONS[dtype]}")
        )
        function(*(array.ctypes.data for array in arrays), len(arrays[0]), self.params_address)


def _filled(table_type: type[ctypes.Structure], magic: int, functions: dict[str, Any], params: bytes) -> Any:
    """Return a table of functions that were made elsewhere, given by address or as numba's cfunc."""
    table = table_type(magic, MAJOR, MINOR, ctypes.sizeof(table_type), len(params))
    for name, function in functions.items():
        if function is not None:
            setattr(table, name, int(getattr(function, "address", function)))
    return table


@attrs.frozen(eq=False)
class NativeLoss(_Native):
    """A loss as native functions."""

    beta: float = attrs.field(converter=float, kw_only=True)
    """A curvature that majorises at every score; with ``curvature``, what it never exceeds."""

    magic: ClassVar[int] = 0x464D464C
    table_type: ClassVar[type[ctypes.Structure]] = _LossTable
    required: ClassVar[tuple[str, ...]] = ("value_f32", "gradient_f32", "value_f64", "gradient_f64")

    @classmethod
    def of_functions(cls, *, beta: float, params: bytes = b"", owner: Any = None, **functions: Any) -> NativeLoss:
        """Return a loss of functions by their names in fmfkit.h: ``value_f32=...``; addresses, or numba's cfuncs."""
        table = _filled(_LossTable, cls.magic, functions, params)
        return cls(ctypes.addressof(table), beta=beta, params=params, owner=(table, owner, functions))

    @property
    def has_curvature(self) -> bool:
        """Whether it has a curvature for each pair."""
        return bool(self.table.curvature_f32 and self.table.curvature_f64)

    def __call__(self, score: Reals, y: Reals) -> tuple[Reals, Reals, Reals]:
        """Return value, gradient and curvature of pairs, as solvers see them."""
        shape = np.shape(score)
        score, y = np.ascontiguousarray(score).ravel(), np.ascontiguousarray(y, score.dtype).ravel()
        value, gradient, curvature = (np.empty_like(score) for _ in range(3))
        self._call("value", score.dtype, score, y, value)
        self._call("gradient", score.dtype, score, y, gradient)
        if self.has_curvature:
            again = np.empty_like(score)
            self._call("curvature", score.dtype, score, y, again, curvature)
            close = 1e-5 if score.dtype == np.float32 else 1e-9
            if not np.allclose(again, gradient, rtol=close, atol=close):
                raise PluginContractError("NativeLoss: curvature gives other gradients than gradient does")
        else:
            curvature[:] = self.beta
        return value.reshape(shape), gradient.reshape(shape), curvature.reshape(shape)


@attrs.frozen(eq=False)
class NativeRegularizer(_Native):
    """A regularizer as native functions."""

    magic: ClassVar[int] = 0x464D4652
    table_type: ClassVar[type[ctypes.Structure]] = _RegularizerTable
    required: ClassVar[tuple[str, ...]] = ("T_f32", "penalty_f32", "T_f64", "penalty_f64")

    @classmethod
    def of_functions(cls, *, params: bytes = b"", owner: Any = None, **functions: Any) -> NativeRegularizer:
        """Return a regularizer of functions by their names in fmfkit.h: addresses, or numba's cfuncs."""
        table = _filled(_RegularizerTable, cls.magic, functions, params)
        return cls(ctypes.addressof(table), params=params, owner=(table, owner, functions))

    def T(self, x: Reals, y: Reals, w: Reals, strength: Reals) -> Reals:
        """Return the changes, as solvers see them.

        Args:
            x: slopes.
            y: curvatures.
            w: parameters.
            strength: one for each of them, or for all.
        """
        given = [
            np.ascontiguousarray(np.broadcast_to(array, w.shape), w.dtype).ravel() for array in (x, y, w, strength)
        ]
        d = np.empty(w.size, w.dtype)
        self._call("T", w.dtype, *given, d)
        return d.reshape(w.shape)

    def penalty(self, w: Reals, strength: Reals) -> Reals:
        """Return the penalties, as solvers see them.

        Args:
            w: parameters.
            strength: one for each of them, or for all.
        """
        out = np.empty(w.shape, w.dtype)
        full = np.ascontiguousarray(np.broadcast_to(strength, w.shape), w.dtype)
        self._call("penalty", w.dtype, *(np.ascontiguousarray(array).ravel() for array in (w, full)), out.reshape(-1))
        return out


__all__ = ["NativeLoss", "NativeRegularizer", "get_include"]
