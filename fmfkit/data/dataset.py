"""A data set: pairs of ids with ratings, and what describes the instances of either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs
import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from fmfkit.data import sampling, splits
from fmfkit.data.delimited import BadRows
from fmfkit.data.encoder import Encoder
from fmfkit.data.joins import Pairs
from fmfkit.data.pairs import all_rows, as_table
from fmfkit.data.positives import Recognised
from fmfkit.data.report import Report, report
from fmfkit.data.roles import ROLES, Duplicates, Once, by_place, find_roles, unused, usable, without_duplicates
from fmfkit.data.sides import Attributes, SideTable, describe_side
from fmfkit.data.tables import Source, read_table
from fmfkit.data.telling import noting, tell
from fmfkit.errors import DataError
from fmfkit.notebooks import facts_table

Halves = tuple["Dataset", "Dataset"]
"""The training part and the test part."""


@attrs.frozen(eq=False, repr=False)
class Dataset:
    """Pairs by row numbers, and what the rows stand for.

    Build one with ``Dataset.of``; take parts of it with ``split_random`` and its kin, which keep ids and tables.
    """

    query: NDArray[np.int32]
    """The row number of each pair's query."""
    target: NDArray[np.int32]
    """The row number of each pair's target."""
    y: NDArray[np.float64]
    """The rating of each pair."""
    weight: NDArray[np.float64] | None
    """How much each pair counts, if that differs."""
    time: NDArray[Any] | None
    """The time of each pair, if it is known."""
    queries: Attributes
    """The ids of the queries, and what describes them."""
    targets: Attributes
    """The same of the targets."""
    columns: Mapping[str, str | None] = attrs.field(factory=dict)
    """The columns of the table of pairs, by what they are for."""
    sampled: NDArray[np.bool_] | None = None
    """Which pairs were drawn by ``with_negatives``."""
    history: bool = False
    """Whether queries have the targets that they are paired with as features (SVD++): 1/√n for each of n."""
    counted: int = 0
    """How many rows of the table repeated a pair, and became weights."""
    notes: tuple[str, ...] = ()
    """What was made of the columns of the table of pairs."""
    told: tuple[str, ...] = ()
    """What was warned of while it was read, such as rows that were left out."""

    @classmethod
    def of(
        cls,
        pairs: Source | sp.sparray | Sequence[Sequence[Any]],
        *,
        query: str | None = None,
        target: str | None = None,
        rating: str | None = None,
        weight: str | None = None,
        time: str | None = None,
        columns: Mapping[str, str | None] | None = None,
        queries: SideTable | Source | None = None,
        targets: SideTable | Source | None = None,
        history: bool = False,
        duplicates: Duplicates = "auto",
        bad_rows: BadRows = "error",
    ) -> Dataset:
        """Build a data set.

        Args:
            pairs: the table of pairs: a path (CSV, TSV, Parquet, Arrow), a polars or pandas frame, an Arrow table, or a
                mapping of column names to arrays; or a sparse matrix of ratings, queries by targets, whose row and
                column numbers are the ids; or a list of tuples, or an array: query, target, and rating and time if any.
            query: the column with the queries' ids; by default one with a usual name, such as "user", else the first.
            target: the column with the targets' ids; by default "item", "movie", "book", ..., else the second.
            rating: the column with the ratings; by default "rating", "score", ..., else the first remaining column of
                numbers. Without one, every pair counts as a positive, y = 1.
            weight: the column that says how much a pair counts.
            time: the column with the time of a pair, for ``split_by_time``.
            columns: what columns are called that are not named: ``model.columns``, so that an update of a model is read
                by the names of the table that the model was trained on, in whatever order its columns stand.
            queries: what describes the queries: a table of their attributes, or a ``SideTable`` that also says which
                columns become which features.
            targets: what describes the targets.
            history: whether queries have the targets that they are paired with, in training, as features (SVD++).
            duplicates: a pair that occurs twice: "error", keep the "last", take the "mean" of ratings and weights, or
                "count": its weight is how often it occurs, or the sum of its weights. "auto" counts where there are no
                ratings, or all are one number above 0, and is an error otherwise.
            bad_rows: pairs without an id, with a rating or weight that is no number, and rows of text files that have
                another number of fields than the first: "error" lists them, "skip" leaves them out, with a warning.
        """
        with noting() as told:
            table = as_table(pairs)
            read = frame = read_table(table, "pairs", bad_rows=bad_rows)
            named = {"query": query, "target": target, "rating": rating, "weight": weight, "time": time}
            roles = find_roles(frame, named, columns)
            notes = (*(() if columns else by_place(frame, roles, named)), *unused(frame, roles))
            frame = usable(frame, roles, bad_rows, table)
            sides: dict[str, Attributes] = {}
            keys = {role: str(roles[role]) for role in ("query", "target")}
            given_pairs = Pairs(frame, keys, table, read)
            for axis, (role, given) in enumerate((("query", queries), ("target", targets))):
                name = keys[role]
                described = all_rows(SideTable.of(given), pairs, axis)
                sides[role], rows = describe_side(role, described, given_pairs, bad_rows)
                frame = frame.with_columns(pl.Series(name, rows))
            once = without_duplicates(frame, roles, duplicates, {role: side.ids for role, side in sides.items()})
            return cls(
                **_columns(once),
                queries=sides["query"],
                targets=sides["target"],
                columns=roles,
                history=history,
                counted=once.counted,
                told=tuple(told),
                notes=notes if once.note is None else (*notes, once.note),
            )

    def with_pairs(
        self,
        source: Source,
        *,
        ratings: bool = True,
        unknown: Literal["error", "skip"] = "error",
        bad_rows: BadRows = "error",
    ) -> Dataset:
        """Return the same ids and tables with the pairs of another table, which has the same columns.

        Of a pair that occurs twice the last counts, with a warning.

        Args:
            source: the table: a path, a frame, an Arrow table, or a mapping of columns.
            ratings: whether it has ratings; of a table without, every pair is a positive.
            unknown: what becomes of pairs with ids that are not known: an "error", or they are left out ("skip").
            bad_rows: as for ``Dataset.of``.
        """
        frame = read_table(source, "pairs", bad_rows=bad_rows)
        wanted = {role: name for role, name in self.columns.items() if ratings or role in ("query", "target")}
        roles = find_roles(frame, dict.fromkeys(ROLES), wanted)
        ids = {"query": self.queries.ids, "target": self.targets.ids}
        frame = usable(frame, roles, bad_rows, source, ids)
        for role, what in (("query", "pairs, queries"), ("target", "pairs, targets")):
            name = str(roles[role])
            rows = ids[role].known_rows if unknown == "error" else ids[role].rows
            frame = frame.with_columns(pl.Series(name, rows(frame[name], what)))
        known = frame.filter(pl.all_horizontal(pl.col(str(roles["query"]), str(roles["target"])) >= 0))
        if not known.height:
            raise DataError(f"pairs: of {frame.height} pairs none has ids that are known")
        frame = known
        once = without_duplicates(frame, roles, "last", ids)
        if once.note is not None:
            tell(f"pairs: {once.note}")
        return attrs.evolve(self, **_columns(once), sampled=None, counted=0)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.query)

    def __repr__(self) -> str:
        """Return its size and its blocks."""
        sides = (("query", self.queries), ("target", self.targets))
        blocks = [f"{side}.{block.title}" for side, of in sides for block in of.blocks]
        return f"Dataset({len(self)} pairs, {self.shape[0]} queries, {self.shape[1]} targets, blocks {blocks})"

    def _repr_html_(self) -> str:
        """Return it for notebooks."""
        facts = [("pairs", f"{len(self):,}"), ("y", f"{self.y.min():g} to {self.y.max():g}" if len(self) else "none")]
        for name, side in (("queries", self.queries), ("targets", self.targets)):
            blocks = ", ".join(block.title for block in side.blocks)
            facts.append((name, f"{len(side.ids):,}" + (f", described by {blocks}" if blocks else "")))
        return facts_table("Dataset", facts)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of queries and of targets, those without pairs too."""
        return len(self.queries.ids), len(self.targets.ids)

    @property
    def matrix(self) -> sp.csr_array:
        """The pairs, but for drawn ones, as a sparse matrix of ones: what a query is known to be paired with."""
        known = slice(None) if self.sampled is None else ~self.sampled
        query, target = self.query[known], self.target[known]
        return sp.csr_array((np.ones(len(query), np.float32), (query, target)), shape=self.shape)

    @property
    def order(self) -> NDArray[np.int64]:
        """The places of the pairs by query, then by target: the order in which ``Observations`` have them."""
        return np.lexsort((self.target, self.query))

    def report(
        self, test: Dataset | None = None, recognised: Recognised | None = None, *, start: Encoder | None = None
    ) -> Report:
        """Return what the data holds, block by block, and warnings of usual mistakes; print it.

        ``test`` is the part that the model will be tested on: the report says whether training knows its pairs.
        ``recognised`` is whether the data is taken as positives only; by default its values decide. ``start`` is the
        encoder of a model that the data is an update of, ``model.encoder``, whose blocks are then the data's.
        """
        return report(self, test, recognised, start)

    def only(self, which: NDArray[Any]) -> Dataset:
        """Return the data set with some of its pairs.

        Args:
            which: a mask of the pairs, or their places.
        """
        arrays = {name: getattr(self, name) for name in ("query", "target", "y", "weight", "time", "sampled")}
        some: dict[str, Any] = {name: None if array is None else array[which] for name, array in arrays.items()}
        return attrs.evolve(self, **some)

    def with_negatives(
        self, ratio: float = 4.0, *, by: sampling.By = "uniform", seed: int = 0, known: Any = None
    ) -> Dataset:
        """Return the pairs with others added, y = 0: for data that has positives only.

        Args:
            ratio: how many to draw for each positive, query by query; fewer where a query has few targets left.
            by: targets are drawn alike ("uniform"), or as often as they occur in the pairs ("popularity").
            seed: of the draws.
            known: other pairs that are not drawn either: a data set with the same ids, such as the whole one, test part
                included, or a sparse matrix of them.
        """
        sampling.check_draws(ratio, by)
        other = known.matrix if isinstance(known, Dataset) else known
        taken = sampling.pair_keys(self.query, self.target, self.shape)
        if other is not None:
            stored = np.repeat(np.arange(other.shape[0]), np.diff(other.indptr))  # zeros too
            taken = np.append(taken, sampling.pair_keys(stored, other.indices, self.shape))
        weight = np.bincount(self.target, minlength=self.shape[1]) if by == "popularity" else np.ones(self.shape[1])
        wanted = np.ceil(ratio * np.bincount(self.query, minlength=self.shape[0]))
        drawn = sampling.draw_pairs(wanted, weight, sampling.different(taken), np.random.default_rng(seed))
        query, target = np.divmod(drawn, self.shape[1])
        before = np.zeros(len(self), bool) if self.sampled is None else self.sampled
        return attrs.evolve(
            self,
            query=np.append(self.query, query.astype(np.int32)),
            target=np.append(self.target, target.astype(np.int32)),
            y=np.append(self.y, np.zeros(len(drawn))),
            weight=None if self.weight is None else np.append(self.weight, np.ones(len(drawn))),
            time=None,
            sampled=np.append(before, np.ones(len(drawn), bool)),
        )

    def balanced(self, power: float) -> Dataset:
        """Return the same pairs, each weighed by how often its query and its target occur, to the power of ``-power``.

        Weights are multiplied by it, and stay the same on average. Pairs that were drawn are weighed like any other,
        and do not count as occurrences.
        """
        if not 0 <= power <= 1:
            raise ValueError(f"power: expected a number from 0 to 1, got {power!r}")
        known = slice(None) if self.sampled is None else ~self.sampled
        before = np.ones(len(self)) if self.weight is None else self.weight
        weight = before * sampling.frequency_weights((self.query, self.target), self.shape, power, known)
        total = weight.sum()
        return attrs.evolve(self, weight=weight * (before.sum() / total) if total > 0 else before)

    def _split(self, test: splits.Mask, how: str) -> Halves:
        if not test.any() or test.all():
            raise DataError(
                f"{how}: of {len(self)} pairs, {int(test.sum())} would be for testing; change the share, or the split"
            )
        return self.only(~test), self.only(test)

    def split(self, how: splits.Split, share: float = 0.1, seed: int = 0) -> Halves:
        """Return (training, test) by the name of a split: one of ``splits.SPLITS``.

        Args:
            how: "random", "per-query", "last-per-query", "time", "cold-query" or "cold-target".
            share: how much is for testing.
            seed: of what is drawn.
        """
        if how not in splits.SPLITS:
            raise ValueError(f"split: expected one of {list(splits.SPLITS)}, got {how!r}")
        if how == "time":
            return self.split_by_time(share)
        if how == "random":
            return self.split_random(share, seed)
        if how == "per-query":
            return self.split_per_query(share, seed)
        if how == "last-per-query":
            return self.split_last_per_query(share, seed)
        return self.split_cold("query" if how == "cold-query" else "target", share, seed)

    def split_random(self, share: float = 0.1, seed: int = 0) -> Halves:
        """Return (training, test): a random share of the pairs is for testing.

        Args:
            share: how much is for testing.
            seed: of what is drawn.
        """
        return self._split(splits.random(len(self), share, seed), "split_random")

    def split_per_query(self, share: float = 0.1, seed: int = 0) -> Halves:
        """Return (training, test): a random share of the pairs of each query is for testing; each keeps at least one.

        All pairs together are split by about that share, less those of queries that have one pair.

        Args:
            share: how much is for testing.
            seed: of what is drawn.
        """
        return self._split(splits.per_query(self.query, share, seed), "split_per_query")

    def split_last_per_query(self, share: float = 0.1, seed: int = 0) -> Halves:
        """Return (training, test): the latest share of the pairs of each query is for testing; each keeps at least one.

        Args:
            share: how much is for testing.
            seed: of which numbers of pairs are rounded up, and which down.
        """
        return self._split(splits.last_per_query(self.query, self.time, share, seed), "split_last_per_query")

    def split_leave_out(self, k: int = 1, seed: int = 0) -> Halves:
        """Return (training, test): k random pairs of each query that has more than k are for testing.

        Args:
            k: how many pairs of each query.
            seed: of what is drawn.
        """
        return self._split(splits.leave_out(self.query, k, seed), "split_leave_out")

    def split_leave_last(self, k: int = 1) -> Halves:
        """Return (training, test): the k latest pairs of each query that has more than k are for testing."""
        return self._split(splits.leave_last(self.query, self.time, k), "split_leave_last")

    def split_by_time(self, share: float = 0.1) -> Halves:
        """Return (training, test): the latest share of the pairs is for testing.

        Args:
            share: how much is for testing.
        """
        return self._split(splits.latest(self.time, share), "split_by_time")

    def split_cold(self, side: Literal["query", "target"], share: float = 0.1, seed: int = 0) -> Halves:
        """Return (training, test): all pairs of a random share of the queries, or targets, are for testing.

        Args:
            side: "query" or "target": whose pairs are held out together.
            share: how many of them.
            seed: of what is drawn.
        """
        rows = self.query if splits.checked_side(side) == "query" else self.target
        return self._split(splits.cold(rows, share, seed), "split_cold")


def _columns(once: Once) -> dict[str, Any]:
    """Return the arrays of a data set."""
    arrays = {role: None if column is None else once.frame[column].to_numpy() for role, column in once.roles.items()}
    rating = arrays.pop("rating")
    return arrays | {"y": np.ones(once.frame.height) if rating is None else rating}


__all__ = ["Dataset"]
