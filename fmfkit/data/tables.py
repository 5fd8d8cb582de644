"""Tables from wherever they are: files, frames of pandas or polars, Arrow, mappings of arrays; as polars frames."""

from __future__ import annotations

import os
import stat
import warnings
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fmfkit.data.delimited import BAD_ROWS, BadRows, listed, read_delimited, read_rows
from fmfkit.errors import DataError
from fmfkit.sections import is_text

Source = Any
"""A path, a frame of polars or pandas, an Arrow table, or a mapping of column names to arrays."""


SEPARATOR = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
"""What separates the fields of text files, unless another separator is recognised."""


def read_table(
    source: Source, name: str = "table", *, bad_rows: BadRows | None = "error", text: Collection[str] = ()
) -> pl.DataFrame:
    """Return a table as a polars frame.

    Args:
        source: a path (CSV, TSV, Parquet, Arrow), a polars or pandas frame, an Arrow table, or a mapping of columns.
        name: what errors call it.
        bad_rows: of a text file, what becomes of rows with another number of fields than the first: "error" lists
            them, and says that there is a choice, "skip" leaves them out, and warns; None lists them.
        text: columns of a text file that stay as they are written, with zeros at the start.
    """
    if bad_rows not in (None, *BAD_ROWS):
        raise ValueError(f"bad_rows: expected one of {list(BAD_ROWS)}, got {bad_rows!r}")
    if isinstance(source, str | os.PathLike):
        frame = _read_path(Path(source), bad_rows, text)
        name = str(source)
    elif isinstance(source, pl.DataFrame):
        frame = source
    elif isinstance(source, pl.LazyFrame):
        frame = source.collect()
    elif isinstance(source, Mapping):
        frame = _from_columns(source, name)
    elif type(source).__module__.partition(".")[0] == "pandas":
        frame = _from_columns({str(column): source[column].to_numpy() for column in source.columns}, name)
    elif type(source).__module__.partition(".")[0] == "pyarrow":
        frame = pl.DataFrame(pl.from_arrow(source))
    else:
        raise TypeError(
            f"{name}: expected a path, a polars or pandas frame, an Arrow table or a mapping of columns, "
            f"got {type(source).__name__}"
        )
    if frame.height == 0:
        raise DataError(f"{name}: the table has no rows")
    return frame


def _read_path(path: Path, bad_rows: BadRows | None, text: Collection[str]) -> pl.DataFrame:
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if not is_text(str(path)):
        raise DataError(f"{path!r}: its name is not text in this locale; rename it, or set LC_ALL=C.UTF-8")
    if path.is_dir():
        raise DataError(
            f"{path}: it is a folder, expected a file; a loader reads some folders, such as loader='movielens', or "
            "--loader movielens"
        )
    try:
        return _read_file(path, bad_rows, text)
    except pl.exceptions.NoDataError:
        raise DataError(f"{path}: the file has no rows") from None
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first, _, _ = str(error).partition("\n")
        raise DataError(f"{path}: could not be read ({first})") from None


def _read_file(path: Path, bad_rows: BadRows | None, text: Collection[str]) -> pl.DataFrame:
    regular, kind = stat.S_ISREG(path.stat().st_mode), _ending(path)
    source = path if regular else path.read_bytes()
    if (path.stat().st_size if isinstance(source, Path) else len(source)) == 0:
        raise DataError(f"{path}: the file is empty")
    if isinstance(source, bytes):  # a pipe, such as <(...) in a shell: its name says nothing
        kind = {b"PAR1": ".parquet", b"ARRO": ".arrow"}.get(source[:4], ".csv")
    if kind in SEPARATOR:
        return read_delimited(source, str(path), SEPARATOR[kind], bad_rows, text)
    if kind in (".parquet", ".pq"):
        return pl.read_parquet(source)
    if kind in (".arrow", ".feather", ".ipc"):
        return pl.read_ipc(source)
    raise DataError(
        f"{path}: expected a file called .csv, .tsv, .txt, .parquet, .arrow or .feather (.gz too); others need a loader"
    )


def _ending(path: Path) -> str:
    """Return the ending of a file's name that says what it holds."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in (".gz", ".zst", ".zip")), "")


def is_text_file(source: Source) -> bool:
    """Tell whether a table is read from a text file, whose columns are recognised by what they hold."""
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    return path is not None and path.is_file() and _ending(path) in SEPARATOR


def places(source: Source, rows: Sequence[int], values: Sequence[str | None] = ()) -> str:
    """Return where rows of a table are, for a message: the lines of a text file, else numbers from 0.

    Args:
        source: the table.
        rows: their numbers.
        values: what stands there, of as many as are to be quoted.
    """

    def told(what: str, numbers: Sequence[int]) -> str:
        shown = zip(numbers, values, strict=False)
        named = [number if value is None else f"{number} ({value})" for number, value in shown]
        return listed(what, [*named, *numbers[len(named) :]])

    if not is_text_file(source):
        return f"{told('row', rows)}, counted from 0"
    path = Path(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all was said when it was read first
        lines = read_rows(path, str(path), SEPARATOR[_ending(path)], "skip").lines
    if rows[-1] >= len(lines):  # two readers that do not agree where rows end
        return f"{told('row', rows)}, counted from 0"
    return told("line", [lines[row] for row in rows])


def _from_columns(columns: Mapping[str, Any], name: str) -> pl.DataFrame:
    made: dict[str, Any] = {}
    for column, values in columns.items():
        array = values.to_numpy() if isinstance(values, pl.Series) else _array(values)
        if array.ndim != 1:
            raise DataError(f"{name}: column {column!r} is not flat: its shape is {array.shape}")
        made[str(column)] = _series(str(column), array, name)
    lengths = {column: len(values) for column, values in made.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{name}: columns differ in length: {lengths}")
    return pl.DataFrame(made)


def _array(values: Any) -> Any:
    """Return values as an array, flat if they are tuples, lists or sets, or of several kinds."""
    if isinstance(values, list | tuple):
        kinds = set(map(type, values))
        if len(kinds) > 1 or kinds & {tuple, *COLLECTIONS}:
            return np.fromiter(values, object, len(values))
    return np.asarray(values)


def _series(column: str, array: Any, name: str) -> pl.Series:
    if array.dtype.kind not in "OUS":
        return pl.Series(column, array, nan_to_null=True)
    values = [None if _missing(value) else value for value in array.tolist()]
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        names = sorted(kind.__name__ for kind in kinds)
        raise DataError(f"{name}: column {column!r} mixes values of kinds {names}; make them one kind")
    if float in kinds and kinds <= {int, float, bool}:
        values = [None if value is None else float(value) for value in values]
    try:
        return pl.Series(column, values, dtype=pl.Object if tuple in kinds else None, strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{name}: column {column!r} holds values that make no column ({error})") from None


def _missing(value: Any) -> bool:
    """Tell whether a value stands for none: None, NaN, NaT or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


COLLECTIONS = (list, set, frozenset)


def attribute(column: pl.Series) -> pl.Series:
    """Return a column that describes instances as blocks take it: objects as text, tuples, lists and sets as lists of
    text."""
    if column.dtype == pl.Object:
        values = column.to_list()
        known = [value for value in values if value is not None]
        if known and all(isinstance(value, tuple | list | set | frozenset) for value in known):
            lists = [
                None if value is None else sorted(str(part) for part in value if part is not None) for value in values
            ]
            return pl.Series(column.name, lists, pl.List(pl.String))
        return pl.Series(column.name, [None if value is None else str(value) for value in values], pl.String)
    if isinstance(column.dtype, pl.List | pl.Array):
        try:
            return column.cast(pl.List(column.dtype.inner)).cast(pl.List(pl.String))
        except pl.exceptions.PolarsError:
            raise DataError(f"column {column.name!r} holds {column.dtype}, expected lists of text or numbers") from None
    return column


def as_words(column: pl.Series) -> pl.Series:
    """Return a column as text."""
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise DataError(f"column {column.name!r} holds {column.dtype}, which cannot be text") from None


def require(frame: pl.DataFrame, columns: Mapping[str, str | None], name: str) -> None:
    """Refuse a table that has not all of the columns; ``columns`` maps what each is for to its name."""
    missing = {role: column for role, column in columns.items() if column is not None and column not in frame.columns}
    if missing:
        wanted = ", ".join(f"{column!r} for the {role}" for role, column in missing.items())
        raise DataError(f"{name}: there is no column {wanted}; the columns are {frame.columns}")


__all__ = ["Source", "as_words", "attribute", "is_text_file", "places", "read_table", "require"]
