"""What a report says of the data and of the training."""

from __future__ import annotations

import platform
import sys

import attrs
import numpy as np
import polars
import scipy

import fmfkit
from fmfkit._kernels.library import build_info
from fmfkit.data.encoder import SideEncoder
from fmfkit.problem.features import FeatureRows
from fmfkit.recommend.settings import Settings, metadata_of, names, resolved_loss
from fmfkit.report.answers import facts
from fmfkit.report.html import Content, Html, name_of, number, table, tag
from fmfkit.report.subject import Subject
from fmfkit.report.svg import Line, histogram, line_chart, share

BINS = 20


@attrs.frozen
class Section:
    """A part of the page."""

    id: str
    """In an address; links to it are called so, too."""
    title: str
    body: Content


def data(subject: Subject) -> Section:
    """Tell what the model was trained on."""
    trained = subject.trained
    queries, targets = trained.model.X.rows, trained.model.Z.rows
    pairs = trained.seen.nnz
    by_query, by_target = np.diff(trained.seen.indptr), np.bincount(trained.seen.indices, minlength=targets)
    told = [
        ("training pairs", f"{pairs:,}, {pairs / (queries * targets):.3%} of all"),
        ("queries", f"{queries:,}, of which {int((by_query == 0).sum()):,} have no pairs (cold)"),
        ("targets", f"{targets:,}, of which {int((by_target == 0).sum()):,} have no pairs (cold)"),
        ("pairs of a query", _spread(by_query)),
        ("pairs of a target", _spread(by_target)),
        ("taken as", "positives only" if trained.positives else "ratings"),
    ]
    rows: list[tuple[Content, ...]] = []
    sides = ("query", trained.model.X, trained.encoder.queries), ("target", trained.model.Z, trained.encoder.targets)
    for side, features, encoder in sides:
        rows += _blocks(side, features, encoder)
    head = ("block", "kind", "features", "non-zeros", "density", "rows without")
    body: list[Content] = [facts(told), table("Feature blocks", head, rows)]
    if not trained.positives and np.ptp(trained.seen.data):
        counts, edges = np.histogram(trained.seen.data, _edges(trained.seen.data))
        body.append(histogram("Ratings in the training data", edges.tolist(), counts.tolist(), "rating", "pairs"))
    return Section("data", "The data", [*body, _notes(subject)])


def _edges(y: np.ndarray) -> np.ndarray:
    """Return the ends of bins: one for each value where these are few and apart."""
    values = np.unique(y)
    step = float(np.diff(values).min())
    if (values[-1] - values[0]) / step > BINS:
        return np.linspace(values[0], values[-1], BINS + 1)
    return np.arange(values[0] - step / 2, values[-1] + step, step)


def _spread(counts: np.ndarray) -> str:
    met = counts[counts > 0]
    return f"{met.min():,} to {met.max():,}, half of them at most {int(np.median(met)):,}"


def _blocks(side: str, features: FeatureRows, encoder: SideEncoder) -> list[tuple[Content, ...]]:
    kinds = {learnt.block.title: learnt.block.kind for learnt in encoder.blocks}
    found: list[tuple[Content, ...]] = []
    for name in features.blocks:
        matrix = features.block(name)
        without = int((np.diff(matrix.indptr) == 0).sum())
        density = matrix.nnz / max(matrix.shape[0] * matrix.shape[1], 1)
        counts = (f"{matrix.shape[1]:,}", f"{matrix.nnz:,}", f"{density:.2%}", f"{without:,}")
        found.append((name_of(f"{side}.{name}"), kinds.get(name, name), *counts))
    return found


def _notes(subject: Subject) -> Html | None:
    """Return what was made of the data, what was left out and why, and what looks like a mistake."""
    report = subject.data
    if report is None:
        return None
    lines = [tag("li", note) for note in (*report.told, *report.notes)]
    lines += [tag("li", tag("strong", "Warning: "), warning) for warning in report.warnings]
    return tag("div", tag("h3", "What was made of it"), tag("ul", lines)) if lines else None


def training(subject: Subject) -> Section | None:
    """Show the objective, and the metric on the validation part, by rounds."""
    trained = subject.trained
    history = trained.model.history
    if len(history) < 2:
        return None
    rounds = [(float(record.round), record.objective) for record in history[1:]]
    charts = [line_chart("What training lowers, by rounds", [Line("objective", rounds)], "round", "objective")]
    if len(trained.validation) > 1:
        first = history[0].round
        values = [(float(first + n), value) for n, value in enumerate(trained.validation)][1:]
        best = len(history) - 1 + first
        name = str(trained.metric)
        title = f"{name} on the validation part, by rounds"
        mark = (float(best), f"the round that was kept, {best}")
        charts.append(line_chart(title, [Line(name, values)], "round", name, mark=mark))
    seconds = sum(record.seconds for record in history)
    told = [("rounds", str(history[-1].round)), ("time in rounds", f"{number(seconds, 3)} s")]
    if trained.model.stopped:
        told.append(("it ended because", trained.model.stopped))
    if any(record.learnt for record in history):
        told.append(("strengths of the penalty", "learnt from the pairs, so that the objective may rise at first"))
    return Section("training", "Training", [facts(told), tag("div", charts, class_="charts")])


def strengths(subject: Subject) -> Html | None:
    """Return by how much scores deviate because of each feature block, where strengths were learnt."""
    found = subject.trained.model.strengths
    if not found:
        return None
    listed = sorted(found.items(), key=lambda item: -item[1])
    rows = [(name_of(name), share(value, listed[0][1]), number(value, 3)) for name, value in listed]
    lead = tag(
        "p",
        "By how much scores deviate from one pair to another because of a block: the standard deviation, over random "
        "pairs, of what its features add to the score.",
    )
    return tag("div", lead, table("Learnt strengths", ("block", "", "deviation"), rows))


def _origin(name: str, settings: Settings, asked: Settings | None) -> str:
    """Return who said what a setting is."""
    if asked is not None and name in asked.given:
        return "given"
    usual = resolved_loss(Settings()) if name == "loss" else metadata_of(name)["default"]
    if name not in settings.given or getattr(settings, name) == usual:
        return "default"
    return "given or chosen" if asked is None else "chosen"


def reproduce(subject: Subject) -> Section:
    """Tell the command, settings and versions."""
    settings = subject.trained.settings
    rows = [
        (name, tag("code", repr(getattr(settings, name))), _origin(name, settings, subject.asked)) for name in names()
    ]
    given = ", ".join(f"{name}={getattr(settings, name)!r}" for name in names() if name in settings.given)
    built = build_info()
    versions = [
        ("fmfkit", fmfkit.__version__),
        ("Python", sys.version.split()[0]),
        ("NumPy, SciPy, Polars", f"{np.__version__}, {scipy.__version__}, {polars.__version__}"),
        ("system", platform.platform()),
        ("core", ", ".join(f"{name} {value}" for name, value in built.items() if isinstance(value, str))),
    ]
    told = tag("details", tag("summary", "All settings"), table("Settings", ("setting", "value", ""), rows))
    call = tag("pre", tag("code", subject.command or f"FMF({given})"), tabindex="0")
    same = tag("p", "The same data and settings give the same model, bit for bit, on any number of threads.")
    return Section("repeat", "How to repeat it", [call, same, told, facts(versions)])


__all__ = ["Section", "data", "reproduce", "strengths", "training"]
