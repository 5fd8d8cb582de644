"""A model as a section of a file, and back: everything that a file says is checked before it is used."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit._kernels.buffers import padded_width
from fmfkit._kernels.library import resolve_threads
from fmfkit._kernels.machine import memory
from fmfkit.errors import ModelFileError
from fmfkit.interfaces import Loss
from fmfkit.model.file import checking
from fmfkit.model.intervals import Observed
from fmfkit.model.own import own_of, own_parts
from fmfkit.plugins import description
from fmfkit.problem.features import FeatureRows
from fmfkit.problem.learnt import SideStrengths, Strengths
from fmfkit.sections import Arrays, Section, check_ascending, check_rows, checked_array, is_text
from fmfkit.training.records import Quantiles, RoundRecord
from fmfkit.training.state import Mean, Parameters, State
from fmfkit.typing import Reals

SOLVER = "solver."
"""Before the names of arrays that a solver keeps."""
STRENGTH_ARRAYS = ("factors", "bias", "variance")
"""The arrays of ``SideStrengths``."""
ROW_ARRAYS = ("row_ptr", "row_index", "row_value", "row_scale", "own", "own_value")
"""The arrays of ``FeatureRows``."""
MOST_ROWS = 2**31 - 1


def model_parts(model: Any) -> Section:
    """Return what a file holds of a Model."""
    about: dict[str, Any] = {
        "rank": model.rank,
        "offset": model.offset,
        "stopped": model.stopped,
        "loss": description.describe(model.loss),
        "history": [attrs.asdict(record) for record in model.history],
        "seed": model.state.seed,
        "round": model.state.round,
    }
    arrays: Arrays = {"P": model.P, "Q": model.Q}
    arrays |= {f"{SOLVER}{name}": np.ascontiguousarray(array) for name, array in model.state.arrays.items()}
    if model.state.strengths is not None:
        about["strengths"], learnt = strengths_parts(model.state.strengths)
        arrays |= learnt
    if model.observed is not None:
        about["pairs"] = model.observed.pairs
        arrays |= {"observed.X": model.observed.X, "observed.Z": model.observed.Z}
    about["own"] = None
    if model.own is not None:
        about["own"], terms = own_parts(model.own)
        arrays |= terms
    if model.state.mean is not None:
        mean = model.state.mean.joined()
        about["mean"] = {"samples": mean.samples, "loss": mean.loss, "skipped": mean.skipped, "kept": len(mean.kept)}
        arrays |= {
            f"kept.{n}.{name}": W for n, kept in enumerate(mean.kept) for name, W in zip("PQ", kept, strict=True)
        }
        arrays |= {"P": mean.P, "Q": mean.Q, "last.P": model.state.P, "last.Q": model.state.Q}
    for name, features in (("X", model.X), ("Z", model.Z)):
        about[name] = [(block, part.start, part.stop) for block, part in features.blocks.items()]
        held = {field: getattr(features, field) for field in ROW_ARRAYS}
        arrays |= {f"{name}.{field}": array for field, array in held.items() if array is not None}
    return Section(about, arrays)


def strengths_parts(strengths: Strengths) -> tuple[dict[str, Any], Arrays]:
    """Return what a file holds of learnt strengths."""
    about = {name: getattr(strengths, name) for name in ("noise", "curvature", "unit", "start", "rounds")}
    arrays: Arrays = {}
    for name, side in (("query", strengths.query), ("target", strengths.target)):
        about[name] = {"bias_variance": side.bias_variance}
        held = {field: getattr(side, field) for field in STRENGTH_ARRAYS}
        arrays |= {f"strengths.{name}.{field}": array for field, array in held.items() if array is not None}
    return about, arrays


def checked_parts(section: Section, path: Any, loss: Loss | None, threads: int | None) -> dict[str, Any]:
    """Return what a file holds of a Model, embeddings apart; refuse what does not belong together."""
    if section.about.get("loss") is None and loss is None:
        raise ModelFileError(f"{path}: its loss is no plugin's; give it: load(..., loss=...)")
    threads = resolve_threads(threads)
    with checking(path):
        whole = _Whole.of(section)
        P, Q, last = whole.P, whole.Q, whole.last
        features = {name: _features(section, name, W) for name, W in (("X", P), ("Z", Q))}
        history = tuple(record(each) for each in section.parts("history"))
        strengths = _strengths(section, whole) if section.about.get("strengths") is not None else None
        mean = _mean(section, whole) if whole.sampled else None
        observed = _observed(section, P, Q) if strengths is not None else None
        state = State(
            P=last[0],
            Q=last[1],
            seed=section.whole("seed"),
            threads=threads,
            round=section.whole("round"),
            strengths=strengths,
            mean=mean,
            arrays=section.within(SOLVER),
        )
        if mean is not None:
            P, Q = mean.parameters()
        _check_size(features, whole)
        own = None
        if section.get("own") is not None:
            sides = zip(("query", "target"), features.values(), whole.biases, strict=True)
            own = own_of(section, str(path), {name: (one.rows, whole.rank, biased) for name, one, biased in sides})
        rest = {"offset": section.real("offset"), "stopped": section.text_or_none("stopped"), "rank": whole.rank}
        made = description.create(section.get("loss"), str(path), kind="loss") if loss is None else loss
        state = attrs.evolve(state, loss=made if made.learns else None)
    parts = {"P": P, "Q": Q, "loss": made, "history": history, "state": state, "observed": observed, "own": own}
    return {**parts, **features, **rest}


@attrs.frozen(eq=False)
class _Whole:
    """The parameters of a file: of the model, and of its last sample, which are the same without samples."""

    P: Reals
    Q: Reals
    rank: int
    last: Parameters
    sampled: bool

    @classmethod
    def of(cls, section: Section) -> _Whole:
        """Refuse parameters that do not have a rank in common, biases apart."""
        rank, sampled = section.whole("rank", least=1, most=MOST_ROWS), section.about.get("mean") is not None
        dtype = section.arrays["P"].dtype if "P" in section.arrays else np.dtype(np.float32)
        if dtype not in (np.float32, np.float64):
            raise ValueError(f"P: expected float32 or float64, got {dtype}")
        P, Q = (section.array(name, dtype, (-1, -1)) for name in "PQ")
        biases = [W.shape[1] - rank for W in (P, Q)]
        if not {*biases} <= {0, 1}:
            raise ValueError(f"P and Q have {P.shape[1]} and {Q.shape[1]} columns, which does not fit the rank {rank}")
        if not sampled:
            return cls(P, Q, rank, (P, Q), sampled)
        last = section.array("last.P", dtype, (len(P), -1)), section.array("last.Q", dtype, (len(Q), -1))
        if last[0].shape[1] - biases[0] != last[1].shape[1] - biases[1] or last[0].shape[1] <= biases[0]:
            raise ValueError("the last sample does not fit the mean")
        return cls(P, Q, rank, last, sampled)

    @property
    def biases(self) -> tuple[bool, bool]:
        """Which sides have a bias."""
        return self.P.shape[1] > self.rank, self.Q.shape[1] > self.rank


def _check_size(features: dict[str, FeatureRows], whole: _Whole) -> None:
    """Refuse embeddings that cannot be in memory: rows and rank may be large where no array is."""
    width = padded_width(whole.rank + sum(whole.biases), whole.P.dtype)
    needed = sum(one.rows for one in features.values()) * width * whole.P.itemsize
    if needed > (most := memory()):
        raise ValueError(f"its embeddings take {needed:,} bytes, and this process may use {most:,}")


def check_scores(U: Reals, V: Reals, offset: float) -> None:
    """Refuse embeddings whose scores may be too large for their precision: no training leads there."""
    if not (len(U) and len(V)):
        return
    largest = [np.maximum(W.max(0), -W.min(0)).astype(np.float64) for W in (U, V)]
    with np.errstate(over="ignore", invalid="ignore"):
        score = abs(offset) + float(largest[0] @ largest[1])
    if not score < np.finfo(U.dtype).max / 2:
        raise ValueError(f"its scores may be as large as {score:.3g}, which is too large for {U.dtype}")


def _strengths(section: Section, whole: _Whole) -> Strengths:
    """Return the learnt strengths that a file holds; refuse arrays that are not what they should be."""
    given = section.part("strengths")
    rank = whole.last[0].shape[1] - whole.biases[0]
    sides = {}
    for (name, features), biased in zip((("query", "X"), ("target", "Z")), whole.biases, strict=True):
        blocks, arrays = len(section.items(features)), section.within(f"strengths.{name}.")
        if ("bias" in arrays) != biased:
            raise ValueError(f"strengths.{name}.bias does not fit the parameters")
        shapes = {"factors": (blocks, rank), "variance": (rank,)} | ({"bias": (blocks, 1)} if biased else {})
        for field, shape in shapes.items():
            array = arrays.get(field)
            if array is None or array.dtype != np.float64 or array.shape != shape:
                raise ValueError(f"strengths.{name}.{field} does not fit the parameters")
            least = 0.0 if field == "variance" else np.finfo(float).tiny
            if array.size and not least <= checked_array(arrays, field, np.float64, shape).min():
                raise ValueError(f"strengths.{name}.{field} holds values that are not above 0")
        variance = given.part(name).real("bias_variance", least=0)
        sides[name] = SideStrengths(arrays["factors"], arrays.get("bias"), arrays["variance"], variance)
    numbers = {name: given.real(name, above=0) for name in ("noise", "curvature", "unit", "start")}
    return Strengths(sides["query"], sides["target"], **numbers, rounds=given.whole("rounds"))


def _mean(section: Section, whole: _Whole) -> Mean:
    """Return the mean of samples that a file holds; refuse samples that do not belong to it."""
    given, last = section.part("mean"), whole.last
    count = given.whole("kept", most=len(section.arrays))
    kept = tuple(
        (
            section.array(f"kept.{n}.P", last[0].dtype, last[0].shape),
            section.array(f"kept.{n}.Q", last[1].dtype, last[1].shape),
        )
        for n in range(count)
    )
    return Mean(
        P=whole.P,
        Q=whole.Q,
        rank=whole.rank,
        samples=given.whole("samples", least=1),
        loss=given.real("loss", least=0),
        skipped=given.whole("skipped"),
        kept=kept,
    )


def _observed(section: Section, P: Reals, Q: Reals) -> Observed:
    X, Z = (section.array(f"observed.{name}", np.float32, (len(W),)) for name, W in (("X", P), ("Z", Q)))
    if min(X.min(initial=0), Z.min(initial=0)) < 0:
        raise ValueError("observed: features were observed less than 0 times")
    return Observed(X, Z, section.real("pairs", least=0))


def _features(section: Section, name: str, W: Reals) -> FeatureRows:
    """Return the features of one side; refuse arrays that are not what they should be."""
    arrays, cols = section.within(f"{name}."), len(W)
    rows = max(len(arrays.get("row_ptr", ())) - 1, 0)
    blocks = _blocks(name, section.items(name), cols)
    held: dict[str, Any] = {"row_value": None, "row_scale": None}
    for field, dtype, length in (
        ("row_ptr", np.int64, rows + 1),
        ("row_index", np.int32, -1),
        ("own", np.int32, rows),
        ("own_value", W.dtype, rows),
    ):
        held[field] = section.array(f"{name}.{field}", dtype, (length,))
    ptr, index, own = held["row_ptr"], held["row_index"], held["own"]
    if ("row_value" in arrays) == ("row_scale" in arrays):
        raise ValueError(f"{name}: expected values, or one for each row")
    field, length = ("row_value", len(index)) if "row_value" in arrays else ("row_scale", rows)
    held[field] = section.array(f"{name}.{field}", W.dtype, (length,))
    check_rows(name, ptr, index, cols)
    _check_own(name, held, cols)
    check_ascending(name, ptr, index, ptr[:-1][own >= 0] + 1)
    return FeatureRows(rows=rows, cols=cols, blocks=blocks, **held)


def _blocks(name: str, given: list[Any], cols: int) -> dict[str, slice]:
    """Return the feature blocks of a side; refuse those that do not lie side by side over all columns."""
    blocks: dict[str, slice] = {}
    end = 0
    for block in given:
        if type(block) is not list or len(block) != 3 or not is_text(block[0]) or block[0] in blocks:
            raise ValueError(
                f"{name}: expected feature blocks, each with a name of its own and two places, got {block!r}"
            )
        title, start, stop = block
        if type(start) is not int or type(stop) is not int or start != end or not start <= stop <= cols:
            raise ValueError(
                f"{name}: the feature block {title!r} is at {start!r} to {stop!r}, expected it from {end} on"
            )
        blocks[title], end = slice(start, stop), stop
    if end != cols:
        raise ValueError(f"{name}: the feature blocks end at {end}, the parameters at {cols}")
    return blocks


def _check_own(name: str, held: dict[str, NDArray[Any]], cols: int) -> None:
    """Refuse own features that do not stand first in their rows, or stand in another, or have another value there."""
    ptr, index, own, value = (held[field] for field in ("row_ptr", "row_index", "own", "own_value"))
    owners = np.flatnonzero(own >= 0)
    if own.min(initial=-1) < -1 or own.max(initial=-1) >= cols:
        raise ValueError(f"{name}.own: expected columns, or -1")
    if (ptr[owners] == ptr[owners + 1]).any() or (index[ptr[owners]] != own[owners]).any():
        raise ValueError(f"{name}.own: a row does not begin with its own feature")
    if (np.bincount(index, minlength=cols)[own[owners]] != 1).any():
        raise ValueError(f"{name}.own: a row's own feature is another row's too")
    if (value[owners] == 0).any():
        raise ValueError(f"{name}.own_value: an own feature is 0")
    if held["row_value"] is not None and (held["row_value"][ptr[owners]] != value[owners]).any():
        raise ValueError(f"{name}.own_value: it is not what the rows have")


def record(given: Section) -> RoundRecord:
    """Return the record of a round that a file holds."""
    fields = {field.name for field in attrs.fields(RoundRecord)}
    if {*given.about} != fields:
        raise ValueError(f"history: expected {sorted(fields)}, got {sorted(given.about)}")
    eta = None
    if given.about["eta"] is not None:
        spread = given.part("eta")
        eta = Quantiles(*(spread.number(field.name) for field in attrs.fields(Quantiles)))
    return RoundRecord(
        round=given.whole("round"),
        loss=given.number("loss"),
        cells=given.number("cells"),
        penalty=given.number("penalty"),
        learnt=given.flag("learnt"),
        seconds=given.number("seconds"),
        stage=given.text_or_none("stage"),
        eta=eta,
        sigma=None if given.about["sigma"] is None else given.number("sigma"),
        nonzero=given.number("nonzero"),
    )


__all__ = ["check_scores", "checked_parts", "model_parts", "record", "strengths_parts"]
