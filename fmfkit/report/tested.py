"""What a report says of how good a model is: on held-out pairs, and in what it recommends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fmfkit import metrics
from fmfkit.recommend.evaluation import Judged, Metric
from fmfkit.recommend.resampling import Estimate, on_draws
from fmfkit.recommend.strata import Stratum, part, strata
from fmfkit.report.answers import facts, known_of, reasons, shown
from fmfkit.report.html import Content, Html, name_of, number, table, tag
from fmfkit.report.leaving_out import worth
from fmfkit.report.subject import LEVEL, MODEL, RESAMPLES, Subject
from fmfkit.report.svg import Line, Point, histogram, line_chart, points, scale_of
from fmfkit.report.trained import Section, strengths

BINS = 10
DEPTHS = (1, 2, 5, 10, 20, 50, 100)
DEPTH = 10
"""How many targets are recommended where it is looked at which."""
MOST_QUERIES = 2000
"""For so many queries, which are drawn, it is looked at what is recommended, and what blocks are worth."""
EXAMPLES = 4
SIDES = {"query": "How active queries are", "target": "How popular targets are"}


def results(subject: Subject) -> Section:
    """Show the metrics beside those of what anybody could predict."""
    tables = [_beside(subject, metric) for metric in subject.wanted]
    note = (
        f"Intervals hold {LEVEL:.0%} of {RESAMPLES} draws of the queries (bootstrap): where the value would lie with "
        "other queries of the same kind."
    )
    return Section("results", "Beside what anybody could predict", [*tables, tag("p", note, class_="note")])


def _beside(subject: Subject, metric: Metric) -> Html:
    found = subject.estimates(metric)
    rows = [[Point(one.value, one.interval, f"s{n and 1}")] for n, one in enumerate(found.values())]
    scale = scale_of(rows)
    better = "higher" if metric.larger else "lower"
    lines = [(name, points(scale, row), _told(one)) for (name, one), row in zip(found.items(), rows, strict=True)]
    return table(f"{metric.name} ({better} is better)", ("", "", "value and interval"), lines)


def _told(found: Estimate, digits: int = 4) -> str:
    if found.interval is None:
        return number(found.value, digits)
    return f"{found.value:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def by_strata(subject: Subject) -> Section | None:
    """Show the deciding metric by how often queries and targets occur in training."""
    metric, names = subject.wanted[0], [MODEL, *([subject.best_baseline] if subject.best_baseline else [])]
    several = [subject.judged[name] for name in names]
    tables = []
    for side, title in SIDES.items():
        found = [one for one in strata(several[0]) if one.side == side]
        rows = [(one, row) for one in found if (row := _stratum(several, one, metric))]
        if rows:
            tables.append(_strata_table(f"{title}: {metric.name} by their training pairs", names, rows))
    if not tables:
        return None
    keys = [tag("li", tag("span", class_=f"key s{n}", aria_hidden="true"), name) for n, name in enumerate(names)]
    return Section("strata", "From cold to hot", [tag("ul", keys, class_="legend"), *tables])


def _stratum(several: Sequence[Judged], stratum: Stratum, metric: Metric) -> list[Estimate]:
    parts = [part(on, stratum) for on in several]
    if metric.refusal(parts[0].y) is not None:
        return []
    drawn = on_draws(parts, [metric], RESAMPLES, 0)[metric.name]
    return [Estimate.of(float(metric.measure(on)), drawn[:, n], LEVEL) for n, on in enumerate(parts)]


def _strata_table(title: str, names: Sequence[str], rows: Sequence[tuple[Stratum, Sequence[Estimate]]]) -> Html:
    drawn = [[Point(e.value, e.interval, f"s{n}") for n, e in enumerate(row)] for _, row in rows]
    scale = scale_of(drawn)
    lines = [
        (one.label, points(scale, places), *(f"{e.value:.4f}" for e in row), f"{len(one):,}")
        for (one, row), places in zip(rows, drawn, strict=True)
    ]
    return table(title, ("training pairs", "", *names, "held-out pairs"), lines)


def blocks(subject: Subject) -> Section | None:
    """Show which feature blocks matter."""
    body: list[Content] = [strengths(subject)]
    if subject.on is not None:
        body.append(_leaving_out(subject, _some_queries(subject.on)))
    return Section("features", "Which features matter", body) if any(body) else None


def _leaving_out(subject: Subject, on: Judged) -> Html:
    metric = subject.wanted[0]
    found = sorted(worth(on, metric, subject.trained.model, RESAMPLES, LEVEL).items(), key=lambda item: -item[1].value)
    rows = [[Point(0.0, None, "none"), Point(one.value, one.interval)] for _, one in found]
    scale = scale_of(rows)
    lines = [(name_of(name), points(scale, row), _told(one)) for (name, one), row in zip(found, rows, strict=True)]
    lead = (
        f"By how much {metric.name} gets worse if the features of a block are left out of the scores of this model, "
        "which is not trained again. A model that is trained without the block may make up for some of it."
    )
    title = f"Loss in {metric.name} without a block"
    return tag("div", tag("p", lead), table(title, ("block", "", "worse by, and interval"), lines))


def _some_queries(on: Judged) -> Judged:
    """Return the pairs of some queries, drawn, if there are very many."""
    queries = np.unique(on.data.query)
    if len(queries) <= MOST_QUERIES:
        return on
    drawn = np.random.default_rng(0).choice(queries, MOST_QUERIES, replace=False)
    return attrs.evolve(on, data=on.data.only(np.isin(on.data.query, drawn)))


def residuals(subject: Subject, on: Judged) -> Section | None:
    """Show how far predictions are off, and whether they are right on average."""
    if not subject.trained.model.loss.calibrated:
        return None
    edges = np.unique(np.quantile(on.prediction, np.linspace(0, 1, BINS + 1)))
    group = np.clip(np.searchsorted(edges, on.prediction, side="right") - 1, 0, max(len(edges) - 2, 0))
    bins = [group == n for n in np.unique(group)]
    means = [(float(on.prediction[at].mean()), float(on.y[at].mean())) for at in bins]
    title = "What was given, by what was predicted: means of tenths of the pairs"
    charts = [line_chart(title, [Line("held-out pairs", means)], "predicted", "given", diagonal=True)]
    off = on.y - on.prediction
    told: list[tuple[str, Content]] = [
        ("given less predicted, on average", f"{off.mean():+.4f}"),
        ("its standard deviation", f"{off.std():.4f}"),
    ]
    if not subject.trained.model.loss.likelihood:
        counts, ends = np.histogram(off, 31)
        charts.append(histogram("Given less predicted", ends.tolist(), counts.tolist(), "difference", "pairs"))
        told += _intervals(subject, on)
    return Section("errors", "Errors", [facts(told), tag("div", charts, class_="charts")])


def _intervals(subject: Subject, on: Judged) -> list[tuple[str, Content]]:
    """Return how often the model's intervals hold what was given, where it has intervals."""
    if subject.trained.model.state.strengths is None or subject.trained.model.observed is None:
        return []
    low, high = subject.trained.model.interval(on.data.query, on.data.target, 0.9)
    return [("its 90% intervals hold", f"{((low <= on.y) & (on.y <= high)).mean():.1%} of what was given")]


def recall(subject: Subject) -> Section:
    """Show how much of what is relevant is found among the first k."""
    depths = [k for k in DEPTHS if k <= subject.trained.model.Z.rows]
    lines = []
    for name, on in subject.judged.items():
        ranking = on.ranking(depths[-1])
        lines.append(Line(name, [(float(k), ranking.recall(k)) for k in depths]))
    title = "Share of what is relevant that is among the first k"
    return Section("recall", "Recall", [tag("div", line_chart(title, lines, "k", "recall@k"), class_="charts")])


def recommended(subject: Subject) -> Section | None:
    """Show how much of the targets is recommended, and whether only the popular ones are."""
    trained = subject.trained
    seen, count = trained.seen, trained.model.Z.rows
    queries = np.flatnonzero(np.diff(seen.indptr)).astype(np.int32)
    if len(queries) > MOST_QUERIES:
        queries = np.sort(np.random.default_rng(0).choice(queries, MOST_QUERIES, replace=False))
    often = np.bincount(seen.indices, minlength=count)
    k = min(DEPTH, count)
    lists = {
        MODEL: trained.model.recommend(queries, k, exclude=seen).targets,
        "popularity": subject.popular.recommend(queries, k, exclude=seen).targets,
    }
    if (lists[MODEL] < 0).all():  # everybody knows everything
        return None
    rows = [
        (
            name,
            f"{metrics.coverage(ranked, count):.1%}",
            f"{metrics.gini(ranked, count):.3f}",
            f"{metrics.novelty(ranked, often, seen.shape[0]):.2f}",
        )
        for name, ranked in lists.items()
    ]
    head = ("", f"coverage@{k}: share of all targets", f"gini@{k}: 0 is even", f"novelty@{k}: in bits, higher is rarer")
    lines = [Line("training pairs", _concentration(often, often))]
    lines += [Line(name, _concentration(often, _counts(ranked, count))) for name, ranked in lists.items()]
    title = "Share of pairs, and of recommendations, that go to the most popular targets"
    chart = line_chart(title, lines, "share of targets, most popular first", "share of pairs")
    lead = f"The first {k} targets for {len(queries):,} queries, without their training pairs."
    what = table("What is recommended", head, rows)
    return Section("recommendations", "What is recommended", [tag("p", lead), what, tag("div", chart, class_="charts")])


def _counts(ranked: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    return np.bincount(ranked[ranked >= 0], minlength=count)


def _concentration(often: NDArray[Any], counts: NDArray[Any]) -> list[tuple[float, float]]:
    """Return which share of the counts the most popular targets have, from none of them to all."""
    order = np.argsort(-often, kind="stable")
    until = np.concatenate([[0.0], np.cumsum(counts[order]) / max(counts.sum(), 1)])
    places = np.unique(np.linspace(0, len(order), 21).round().astype(int))
    return [(float(n / len(order)), float(until[n])) for n in places]


def examples(subject: Subject) -> Section:
    """Show what some queries are recommended, and why."""
    chosen = _chosen(subject)
    return Section("examples", "Examples", [_example(subject, query) for query in chosen])


def _chosen(subject: Subject) -> list[int]:
    """Return some queries, from the one with the most training pairs to those with few or none."""
    often = np.diff(subject.trained.seen.indptr)
    among = np.arange(len(often)) if subject.on is None else np.unique(subject.on.data.query)
    ordered = among[np.argsort(-often[among], kind="stable")]
    places = np.unique(np.linspace(0, len(ordered) - 1, EXAMPLES).round().astype(int))
    return [int(ordered[n]) for n in places]


def _example(subject: Subject, query: int) -> Html:
    trained = subject.trained
    label = trained.encoder.queries.labels[query]
    liked = [
        [name_of(one.label), None if trained.positives else f" ({shown(one.y)})"] for one in known_of(trained, query, 5)
    ]
    best = trained.model.recommend([query], 6, exclude=trained.seen)
    rows = []
    for target, score in zip(best.targets[0], best.scores[0], strict=True):
        if target < 0:
            continue
        found = trained.explain(trained.encoder.queries.ids.at([query])[0], trained.encoder.targets.ids.at([target])[0])
        predicted = trained.model.loss.link(np.array([score], float))[0]
        held_out = _held_out(subject, query, int(target))
        rows.append(
            (
                name_of(trained.encoder.targets.labels[int(target)]),
                shown(predicted),
                tag("span", reasons(found), class_="reasons"),
                held_out,
            )
        )
    lines = table(f"Recommended to {label}", ("target", "predicted", "what raises its score most", "held out"), rows)
    count = int(np.diff(trained.seen.indptr)[query])
    some = [", of which " if liked else ".", [["; " if n else "", one] for n, one in enumerate(liked)]]
    known = tag("p", f"{count:,} training pairs", some)
    return tag("article", tag("h3", "Query ", name_of(label)), known, lines)


def _held_out(subject: Subject, query: int, target: int) -> str | None:
    """Return what was given for a pair that was held out."""
    if subject.on is None:
        return None
    data = subject.on.data
    at = np.flatnonzero((data.query == query) & (data.target == target))
    if not at.size:
        return None
    return "yes" if subject.trained.positives else shown(float(data.y[at[0]]))


__all__ = [
    "blocks",
    "by_strata",
    "examples",
    "recall",
    "recommended",
    "residuals",
    "results",
]
