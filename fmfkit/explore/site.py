"""The pages: what a path and its parameters show of a model."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

from fmfkit.data.encoder import SideEncoder
from fmfkit.errors import DataError
from fmfkit.explore.plane import Plane
from fmfkit.recommend.recommender import Recommender
from fmfkit.report.answers import contribution_table, facts, known_of, reasons, score_table, shown
from fmfkit.report.html import Content, Html, name_of, table, tag
from fmfkit.typing import SideName

BEST, ALIKE, FOUND, PAIRED = 15, 10, 25, 10
"""How many recommendations, similar ones, search results and training pairs are shown."""
Parameters = Mapping[str, Sequence[str]]
MOST_LIKED = 50


class NotFoundError(Exception):
    """What was asked for is not there; the message says so to whoever asked."""


@attrs.frozen
class View:
    """What a page shows."""

    title: str
    body: Content


@attrs.frozen(eq=False)
class Site:
    """A model as pages."""

    trained: Recommender

    def view(self, path: str, given: Parameters) -> View:
        """Return what a path shows."""
        pages: dict[str, Callable[[Parameters], View]] = {
            "/": self.home,
            "/search": self.search,
            "/query": self.query,
            "/target": self.target,
            "/why": self.why,
            "/map": self.map,
            "/like": self.like,
        }
        if path not in pages:
            raise NotFoundError(f"There is no page {path}.")
        return pages[path](given)

    def home(self, given: Parameters) -> View:
        """Show what the model is, and where to begin."""
        model = self.trained.model
        told = [
            ("queries", f"{model.X.rows:,}"),
            ("targets", f"{model.Z.rows:,}"),
            ("training pairs", f"{self.trained.seen.nnz:,}" + (", positives only" if self.trained.positives else "")),
            ("rank", f"{model.rank}"),
            ("features of queries", ", ".join(model.X.blocks)),
            ("features of targets", ", ".join(model.Z.blocks)),
        ]
        begin = tag("p", "Search for a query or a target above, or begin with one of these.")
        lists = [self._popular("query", "Queries with the most training pairs")]
        lists.append(self._popular("target", "Targets with the most training pairs"))
        return View("A model", [facts(told), begin, tag("div", lists, class_="charts")])

    def _popular(self, side: SideName, caption: str) -> Html:
        often = self._often[side]
        rows = np.argsort(-often, kind="stable")[:ALIKE]
        lines = [(self._link(side, int(row)), f"{int(often[row]):,}") for row in rows]
        return table(caption, (side, "training pairs"), lines)

    def search(self, given: Parameters) -> View:
        """Show queries and targets whose title or id has some text."""
        text = _text(given, "q")
        sides: tuple[SideName, ...] = ("query", "target")
        both = [self._found(side, text, functools.partial(self._link, side)) for side in sides]
        return View(f"Search for {text}" if text else "Search", both)

    def _found(self, side: SideName, text: str, linked: Callable[[int], Content]) -> Html:
        rows, count = self._matches(side, text)
        lines = [(linked(row), f"{int(self._often[side][row]):,}") for row in rows]
        what = "queries" if side == "query" else "targets"
        title = f"{count:,} {what}" + (f", of which {len(rows)} are shown" if count > len(rows) else "")
        return table(title, (side, "training pairs"), lines) if rows else tag("p", f"No {what} are called so.")

    def _matches(self, side: SideName, text: str) -> tuple[list[int], int]:
        """Return some rows whose title or id has a text, the most frequent first, and how many there are."""
        if not text:
            return [], 0
        encoder, wanted = self._side(side), text.lower()
        columns = {id(column): column for column in (encoder.labels, encoder.ids.names)}.values()
        has = [column.str.to_lowercase().str.contains(wanted, literal=True).fill_null(False) for column in columns]
        found = functools.reduce(pl.Series.__or__, has).to_numpy()
        rows = np.flatnonzero(found)
        rows = rows[np.argsort(-self._often[side][rows], kind="stable")]
        return [int(row) for row in rows[:FOUND]], len(rows)

    def query(self, given: Parameters) -> View:
        """Show what a query is paired with, what it is recommended, and which are like it."""
        trained, row = self.trained, self._row(given, "query")
        known = [
            (self._link("target", one.target), None if trained.positives else shown(one.y))
            for one in known_of(trained, row, PAIRED)
        ]
        best = trained.model.recommend([row], BEST, exclude=trained.seen)
        lines = [
            (
                self._link("target", target),
                shown(self._predicted(score)),
                tag("span", reasons(self._explained(row, target)), class_="reasons"),
                tag(
                    "a",
                    "why",
                    href=_address("/why", query=row, target=target),
                    aria_label=f"Why {self._name('target', target)}",
                ),
            )
            for target, score in _listed(best.targets[0], best.scores[0])
        ]
        head = ("target", "predicted", "what raises its score most", "")
        body: list[Content] = [
            self._facts("query", row),
            table("Recommended, without what it is paired with in training", head, lines),
        ]
        aside = [self._alike("query", row)]
        if known:
            aside.insert(0, table("Of its training pairs", ("target", "" if trained.positives else "rating"), known))
        return View(f"Query {self._name('query', row)}", [*body, tag("div", aside, class_="charts")])

    def target(self, given: Parameters) -> View:
        """Show a target, and which are like it."""
        row = self._row(given, "target")
        like = tag("p", tag("a", "What if I like this?", href=_address("/like", like=row)))
        return View(
            f"Target {self._name('target', row)}", [self._facts("target", row), like, self._alike("target", row)]
        )

    def _alike(self, side: SideName, row: int) -> Html:
        """Return which others are like a query or a target."""
        model = self.trained.model
        best = model.similar(row, ALIKE) if side == "target" else model.similar(queries=row, k=ALIKE)
        lines = [
            (self._link(side, other), f"{cosine:.3f}") for other, cosine in _listed(best.targets[0], best.scores[0])
        ]
        return table("Similar, by the cosine of embeddings", (side, "cosine"), lines)

    def _facts(self, side: SideName, row: int) -> Html:
        model = self.trained.model
        bias = (model.query_bias if side == "query" else model.target_bias)[row]
        told: list[tuple[str, Content]] = [
            ("id", name_of(str(self._side(side).ids.names[row]))),
            ("training pairs", f"{int(self._often[side][row]):,}"),
            ("bias", f"{float(bias):+.3f}"),
        ]
        features = model.X if side == "query" else model.Z
        begin, end = features.row_ptr[row : row + 2]
        names, listed = dict(self._side(side).names()), []
        for column in features.row_index[begin:end]:
            block, place = features.block_of(int(column))
            if block in names and block != "indicator":
                listed.append(f"{block}: {names[block][place]}")
        if listed:
            told.append(("features", name_of(", ".join(listed[:MOST_LIKED]))))
        return facts(told)

    def why(self, given: Parameters) -> View:
        """Show what a score is the sum of."""
        query, target = self._row(given, "query"), self._row(given, "target")
        found = self._explained(query, target)
        told: list[tuple[str, Content]] = [
            ("query", self._link("query", query)),
            ("target", self._link("target", target)),
            ("predicted", shown(self._predicted(found.score))),
        ]
        tables = [
            score_table(found),
            contribution_table("What the target's features add to the match", found.by_target),
            contribution_table("What the query's features add to the match", found.by_query),
            contribution_table("What the target's features add to its bias", found.target_bias),
            contribution_table("What the query's features add to its bias", found.query_bias),
        ]
        note = (
            "The match is told twice: by the features of the target, and by those of the query. Both sums are the same."
        )
        return View("Why", [facts(told), tag("div", tables, class_="charts"), tag("p", note, class_="note")])

    def map(self, given: Parameters) -> View:
        """Show embeddings in two dimensions."""
        side: SideName = "query" if _text(given, "side") == "query" else "target"
        model = self.trained.model
        embedding = model.query_embedding if side == "query" else model.target_embedding
        plane = Plane.of(embedding, self._often[side])
        other = "target" if side == "query" else "query"
        what, others = ("queries", "targets") if side == "query" else ("targets", "queries")
        picture = plane.drawn(lambda row: self._name(side, row), lambda row: _address(f"/{side}", row=row))
        shown_of = "all" if len(plane.rows) == len(embedding) else f"the {len(plane.rows):,} most frequent of"
        lead = (
            f"The embeddings of {shown_of} {len(embedding):,} {what}, in the two directions in which they differ most "
            f"(principal components, {plane.share:.0%} of the variance). What lies close together is alike. Larger "
            "dots have more training pairs. For a list in words, open one of them: it says which are similar."
        )
        switch = tag("p", tag("a", f"Map of {others}", href=_address("/map", side=other)))
        return View(f"Map of {what}", [tag("p", lead), picture, switch])

    def like(self, given: Parameters) -> View:
        """Show what somebody who likes some targets would be recommended."""
        liked = list(dict.fromkeys(self._number(text, "target") for text in given.get("like", [])))[:MOST_LIKED]
        text = _text(given, "q")
        hidden = [tag("input", type="hidden", name="like", value=row) for row in liked]
        form = tag(
            "form",
            hidden,
            tag("label", "Add a target", for_="add"),
            tag("input", id="add", name="q", value=text, type="search", autocomplete="off"),
            tag("button", "Find", type="submit"),
            action="/like",
            class_="search",
        )
        body: list[Content] = [tag("p", "Choose what you like, and see what you would be recommended."), form]
        if text:
            body.append(
                self._found("target", text, lambda row: _action("Add", self._name("target", row), [*liked, row]))
            )
        if liked:
            rows = [
                (
                    self._link("target", row),
                    _action("Remove", self._name("target", row), [n for n in liked if n != row]),
                )
                for row in liked
            ]
            body += [table("What you like", ("target", ""), rows), self._for_somebody(liked)]
        return View("What if I like these?", body)

    def _for_somebody(self, liked: list[int]) -> Html:
        """Return recommendations for a query that is not known, but for what it likes."""
        ids = self.trained.encoder.targets.ids
        key = str(self.trained.columns.get("query") or "query")
        pairs = pl.DataFrame([pl.Series(key, ["you"] * len(liked)), pl.Series("target", ids.at(liked))])
        try:
            best = self.trained.recommend_new({key: ["you"]}, BEST, pairs=pairs)
        except DataError as error:
            return tag("p", f"This model cannot say: {error}", class_="verdict", role="alert")
        targets = best["target"].cast(pl.String).to_list()
        lines = [
            (self._link("target", self._rows[target]), f"{score:.3f}")
            for target, score in zip(targets, best["score"].to_list(), strict=True)
        ]
        return table("Recommended", ("target", "score"), lines)

    @functools.cached_property
    def _often(self) -> dict[SideName, NDArray[Any]]:
        """How many training pairs queries and targets have."""
        seen = self.trained.seen
        return {"query": np.diff(seen.indptr), "target": np.bincount(seen.indices, minlength=seen.shape[1])}

    @functools.cached_property
    def _rows(self) -> dict[str, int]:
        """The row numbers of targets, by their ids as text."""
        return {name: row for row, name in enumerate(self._side("target").ids.names)}

    def _side(self, side: SideName) -> SideEncoder:
        return self.trained.encoder.queries if side == "query" else self.trained.encoder.targets

    def _name(self, side: SideName, row: int) -> str:
        return str(self._side(side).labels[row])

    def _link(self, side: SideName, row: int) -> Html:
        return tag("a", name_of(self._name(side, row)), href=_address(f"/{side}", row=row))

    def _predicted(self, score: float) -> float:
        return float(self.trained.model.loss.link(np.array([score], float))[0])

    def _explained(self, query: int, target: int) -> Any:
        encoder = self.trained.encoder
        return self.trained.explain(encoder.queries.ids.at([query])[0], encoder.targets.ids.at([target])[0])

    def _row(self, given: Parameters, side: SideName) -> int:
        return self._number(_text(given, side) or _text(given, "row"), side)

    def _number(self, text: str, side: SideName) -> int:
        """Return a row number that somebody gave."""
        count = len(self._side(side).ids)
        if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) < count):
            raise NotFoundError(f"There is no {side} {text!r}.")
        return int(text)


def _text(given: Parameters, name: str) -> str:
    return given.get(name, [""])[0].strip()


def _address(path: str, **parameters: Any) -> str:
    return f"{path}?{urlencode(parameters, doseq=True)}"


def _action(what: str, name: str, liked: Sequence[int]) -> Html:
    """Return a link that changes what is liked."""
    told = [what, " ", name_of(name)] if what == "Add" else what
    return tag("a", told, href=_address("/like", like=liked), aria_label=f"{what} {name}")


def _listed(rows: NDArray[np.int32], values: NDArray[Any]) -> list[tuple[int, float]]:
    return [(int(row), float(value)) for row, value in zip(rows, values, strict=True) if row >= 0]


__all__ = ["NotFoundError", "Site", "View"]
