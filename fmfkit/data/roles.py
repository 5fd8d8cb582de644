"""What the columns of a table of pairs are for: found by name or place, checked, and without duplicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal, get_args

import attrs
import polars as pl

from fmfkit.data.cells import numbers
from fmfkit.data.delimited import LISTED, BadRows, leave_out
from fmfkit.data.ids import Ids, wants_numbers, whole_numbers
from fmfkit.data.positives import all_positive
from fmfkit.data.tables import Source, is_text_file, places, require
from fmfkit.data.telling import tell
from fmfkit.data.times import are_times, as_times
from fmfkit.errors import DataError

ROLES: dict[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "user", "user_id", "userid", "reader", "customer", "customer_id"),
    "target": (
        *("target", "target_id", "item", "item_id", "itemid", "movie", "movie_id", "movieid"),
        *("book", "book_id", "product", "product_id"),
    ),
    "rating": ("rating", "score", "stars", "y", "label", "value"),
    "time": ("time", "timestamp", "date"),
    "weight": ("weight", "sample_weight"),
}
"""Names by which columns are known if they are not named."""


def named_as(
    before: Mapping[str, str | None], given: Mapping[str, str | None], frame: pl.DataFrame
) -> dict[str, str | None]:
    """Return the names of columns that are given, else as they were ``before``; weight and time may be left out."""
    optional = {role for role in ("weight", "time") if before.get(role) not in frame.columns}
    return {role: name or (None if role in optional else before.get(role)) for role, name in given.items()}


def find_roles(
    frame: pl.DataFrame, given: Mapping[str, str | None], before: Mapping[str, str | None] | None = None
) -> dict[str, str | None]:
    """Return the column for each role: as named, else by a usual name, else by place.

    Args:
        frame: the table of pairs.
        given: the columns that are named, by role; None for others.
        before: all names of a table that was read earlier; nothing else is looked for then.
    """
    if before:
        roles = named_as(before, given, frame)
        require(frame, roles, "pairs")
        _check_different(roles)
        return roles
    require(frame, given, "pairs")
    roles = dict(given)
    taken = {column for column in given.values() if column is not None}
    for role, usual in ROLES.items():
        if roles[role] is None:
            names = {column.lower(): column for column in frame.columns if column not in taken}
            roles[role] = next((names[name] for name in usual if name in names), None)
        taken |= {column for column in (roles[role],) if column is not None}
    for role in ("query", "target"):
        if roles[role] is None:
            free = [column for column in frame.columns if column not in taken and not are_times(frame[column])]
            if not free:
                times = [column for column in frame.columns if column not in taken]
                but = f" but {times[0]!r}, which holds times: {role}= or --{role} names it" if times else ""
                raise DataError(f"pairs: no column is left for the {role}{but}; the columns are {frame.columns}")
            roles[role] = free[0]
            taken.add(free[0])
    if roles["rating"] is None:
        free = [column for column in frame.columns if column not in taken]
        fit = [column for column in free if frame[column].dtype.is_numeric()]
        fit += [column for column in free if _written_numbers(frame[column]) is not None]
        roles["rating"] = fit[0] if fit else None
    _check_different(roles)
    return roles


def _check_different(roles: Mapping[str, str | None]) -> None:
    """Refuse a column that is for two things."""
    named = [column for column in roles.values() if column is not None]
    if twice := [column for column in named if named.count(column) > 1]:
        told = " and the ".join(role for role, column in roles.items() if column == twice[0])
        raise DataError(f"pairs: column {twice[0]!r} is given for the {told}; each needs a column of its own")


def by_place(frame: pl.DataFrame, roles: Mapping[str, str | None], given: Mapping[str, str | None]) -> list[str]:
    """Return what is said of columns that were found by place, because no name said what they are for.

    Args:
        frame: the table of pairs.
        roles: the columns, by role.
        given: those that were named.
    """
    found = {role: name for role, name in roles.items() if name is not None and given[role] is None}
    guessed = [f"{name!r} the {role}" for role, name in found.items() if name.lower() not in ROLES[role]]
    if not guessed:
        return []
    times = [repr(name) for name in frame.columns if name not in roles.values() and are_times(frame[name])]
    over = f"; passed over {', '.join(times)}, which holds times: --time or time= names it" if times else ""
    return [f"columns of the pairs, by place: {', '.join(guessed)}{over}"]


def unused(frame: pl.DataFrame, roles: Mapping[str, str | None]) -> list[str]:
    """Return what is said of columns of the pairs that are for nothing, and why.

    Args:
        frame: the table of pairs.
        roles: the columns that are for something, by role.
    """
    left = [column for column in frame.columns if column not in roles.values()]
    reason = "features describe queries or targets, not pairs"
    return [f"not used: columns {', '.join(map(repr, left))} of the pairs ({reason})"] if left else []


def usable(
    frame: pl.DataFrame,
    roles: Mapping[str, str | None],
    bad_rows: BadRows | None,
    source: Source,
    known: Mapping[str, Ids] | None = None,
) -> pl.DataFrame:
    """Return the columns that have a role, in rows that have ids, and finite numbers as rating and weight.

    Args:
        frame: the table of pairs.
        roles: its columns, by role.
        bad_rows: what becomes of other rows: an "error", or they are left out ("skip"); None leaves no choice.
        source: what the table was read from, whose lines messages name.
        known: ids that those of the table are looked up among: where they are numbers, text that is none is no id.
    """
    frame = frame.select(column for column in roles.values() if column is not None)
    time = roles["time"]
    if time is not None and str(frame[time].dtype).endswith("128"):
        raise DataError(f"pairs: column {time!r}, the time, holds {frame[time].dtype}, expected at most 64 bits")
    if time is not None and frame[time].dtype == pl.String:
        with suppress(DataError):  # text that is no time is refused where times are asked for
            frame = frame.with_columns(as_times(frame[time]))
    kept = pl.repeat(True, frame.height, eager=True)
    for role, column in roles.items():
        if column is None or role == "time":
            continue
        values = frame[column]
        if role in ("query", "target"):
            values = whole_numbers(values) if known and wants_numbers(known[role].values, values) else values
            good, fault = values.is_not_null(), "are missing"
            if values.dtype != frame[column].dtype:
                fault = "are missing or no numbers, as the ids that are known are"
        else:
            values = _numbers(values, role)
            good, fault = values.is_finite().fill_null(False), "are missing or no finite numbers"
        if not good.all():
            rows = (~good).arg_true().to_list()
            at = places(source, rows, [_written(value) for value in frame[column].gather(rows[:LISTED])])
            told = f"{len(rows):,} of {len(good):,} values of {column!r}, the {role}, {fault}: {at}"
            leave_out(f"pairs: {told}", bad_rows)
        frame = frame.with_columns(values)
        kept &= good
    if not kept.any():
        raise DataError("pairs: no row is left")
    return frame if kept.all() else _numbers_again(frame.filter(kept), roles, source)


def _written(value: object) -> str | None:
    """Return a value as a message quotes it; None for a missing one."""
    return repr(value) if isinstance(value, str) else None


def _numbers_again(frame: pl.DataFrame, roles: Mapping[str, str | None], source: Source) -> pl.DataFrame:
    """Return a table whose ids are numbers if nothing but rows that were left out made them text, and say so.

    Text in frames was meant as text; of files it is known that a column of numbers is read as such.
    """
    if not is_text_file(source):
        return frame
    for name in (str(roles["query"]), str(roles["target"])):
        made = whole_numbers(frame[name]) if frame[name].dtype == pl.String else None
        if made is None or made.null_count():
            continue
        zeros = frame[name].filter(frame[name].str.contains(r"^0\d"))
        without = f", without the zeros that they begin with, such as {zeros[0]}" if len(zeros) else ""
        text = f"pairs: without the rows left out, ids of {name!r} are numbers, and are read as such{without}"
        tell(text)
        frame = frame.with_columns(made)
    return frame


def _numbers(series: pl.Series, role: str) -> pl.Series:
    """Return ratings or weights as numbers; text, if most of it are numbers, with the rest missing."""
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return series.cast(pl.Float64)
    written = _written_numbers(series)
    if written is None:
        raise DataError(f"pairs: column {series.name!r}, the {role}, holds {series.dtype}, expected numbers")
    return written


def _written_numbers(series: pl.Series) -> pl.Series | None:
    """Return a column of text, most of which are numbers, as numbers, with the rest missing; some may have a decimal
    comma, where none has a point."""
    if series.dtype != pl.String:
        return None
    found = numbers(series, comma=True).cast(pl.Float64)
    return found if found.count() > series.count() / 2 else None


Duplicates = Literal["auto", "error", "last", "mean", "count"]
"""What becomes of a pair that occurs twice."""
DUPLICATES: tuple[Duplicates, ...] = get_args(Duplicates)


@attrs.frozen(eq=False)
class Once:
    """A table in which each pair occurs once."""

    frame: pl.DataFrame
    roles: Mapping[str, str | None]
    counted: int = 0
    """How many rows repeated a pair, and became weights."""
    note: str | None = None
    """What became of rows that repeat a pair, where they became no weights."""


def without_duplicates(
    frame: pl.DataFrame, roles: Mapping[str, str | None], duplicates: Duplicates, sides: Mapping[str, Ids]
) -> Once:
    """Return the table of pairs, given by row numbers, with each pair once."""
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates: expected one of {list(DUPLICATES)}, got {duplicates!r}")
    query, target = str(roles["query"]), str(roles["target"])
    key = frame.select(pl.col(query).cast(pl.Int64) * len(sides["target"]) + pl.col(target)).to_series()
    twice = len(key) - key.n_unique()
    if not twice:
        return Once(frame, roles)
    if duplicates == "auto":
        rating = roles["rating"]
        duplicates = "count" if rating is None or all_positive(frame[rating].to_numpy()) else "error"
    if duplicates == "error":
        row = frame.row(int(key.is_duplicated().arg_max() or 0), named=True)
        example = " with ".join(
            f"{name} {sides[role].at([row[name]])[0]!r}" for role, name in (("query", query), ("target", target))
        )
        raise DataError(
            f"pairs: {twice} rows repeat a pair, such as {example}; pass duplicates='last', 'mean' or 'count', or "
            "--duplicates"
        )
    if duplicates == "last":
        note = f"{twice:,} rows repeat a pair: of each pair the last row counts"
        return Once(frame.unique([query, target], keep="last", maintain_order=True), roles, note=note)
    if duplicates == "mean":
        note = f"{twice:,} rows repeat a pair: the mean of each pair's ratings counts"
        return Once(_merged(frame, roles, pl.Expr.mean), roles, note=note)
    return _counted(frame, roles, twice)


def _counted(frame: pl.DataFrame, roles: Mapping[str, str | None], twice: int) -> Once:
    """Return each pair once; its weight is how often it occurs, or the sum of its weights."""
    rating, weight = roles["rating"], roles["weight"]
    if rating is not None and (wrong := int((frame[rating] <= 0).sum())):
        raise DataError(
            f"pairs: duplicates='count' counts positives, but {wrong} values of {rating!r}, the rating, are 0 or less; "
            "leave these rows out, or pass duplicates='last' or 'mean', or --duplicates"
        )
    if weight is None:
        weight = "_".join([*frame.columns, "count"])  # no column is called so: it is longer than all
        frame = frame.with_columns(pl.lit(1.0).alias(weight))
    roles = {**roles, "weight": weight}
    return Once(_merged(frame, roles, pl.Expr.sum), roles, twice)


def _merged(
    frame: pl.DataFrame, roles: Mapping[str, str | None], of_weights: Callable[[pl.Expr], pl.Expr]
) -> pl.DataFrame:
    """Return each pair once, with the mean of its ratings."""
    pair, made = [str(roles["query"]), str(roles["target"])], []
    if (rating := roles["rating"]) is not None:
        ratings = pl.col(rating)
        made.append(ratings.mean().clip(ratings.min(), ratings.max()))  # the mean of equal numbers is that number
    if (weight := roles["weight"]) is not None:
        made.append(of_weights(pl.col(weight)))
    others = pl.exclude(*pair, *(name for name in (rating, weight) if name is not None))
    return frame.group_by(pair, maintain_order=True).agg(*made, others.last())


__all__ = [
    "DUPLICATES",
    "ROLES",
    "Duplicates",
    "Once",
    "by_place",
    "find_roles",
    "unused",
    "usable",
    "without_duplicates",
]
