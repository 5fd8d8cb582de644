"""Usefulness of features: figures "Test RMSE", tables of link prediction and image tagging."""

from __future__ import annotations

from fmfkit_bench.paper.cases import Case
from fmfkit_bench.paper.lab import PANEL, Curve, Lab, parallel
from fmfkit_bench.paper.penalties import ALL, PLAIN
from fmfkit_bench.results.sections import Cell, Claim, Figure, Line, Panel, Section, Table

from fmfkit.search import better

PERCENT = 100.0


def run(lab: Lab) -> Section:
    """Train with features and without, and set both against popularity."""
    trained = {case.name: _trained(lab, case) for case in lab.tasks}
    ratings = lab.of_kind("ratings")
    figures = []
    if ratings:
        figures.append(
            Figure(
                "test-rmse",
                "Test RMSE by round: popularity, matrix factorization (MF), and feature-based (FMF).",
                [_panel(case, trained[case.name]) for case in ratings],
            )
        )
    return Section(
        "features",
        "Usefulness of features",
        "Models that know ids only (MF), some features or all (FMF), against the popularity of targets; each at the "
        "round that is best on the test part, as in the paper. Links: each query's own test pairs are ranked. Tags: "
        "all tags are ranked for images that training has not seen.",
        tables=[_table(case, trained[case.name]) for case in lab.tasks],
        figures=figures,
        claims=[_claim(case, trained[case.name]) for case in lab.tasks],
    )


def _trained(lab: Lab, case: Case) -> dict[tuple[str, str], Curve]:
    """Return the fits by model and method."""
    small = parallel(case.sets[0])
    return {
        (model, by): lab.curve(case, by, model)
        for model in case.subsets
        for by in (("L2M",) if model == PLAIN else ("L2M", small, PANEL) if model == ALL else ("L2M", small))
    }


def _panel(case: Case, trained: dict[tuple[str, str], Curve]) -> Panel:
    floor = case.popularity()["RMSE"]
    lines = []
    for (model, by), curve in trained.items():
        values = curve.metrics["RMSE"][1:]
        lines.append(Line(f"{model}, {by}" if model != PLAIN else model, _rounds(values), values))
    most = max(len(line.x) for line in lines)
    lines.insert(0, Line("popularity", [1.0, float(most)], [floor, floor]))
    return Panel(case.title, "round", "test RMSE", lines)


def _rounds(values: list[float]) -> list[float]:
    return [float(k) for k in range(1, len(values) + 1)]


def _table(case: Case, trained: dict[tuple[str, str], Curve]) -> Table:
    share = case.kind != "ratings"
    unit = " (%)" if share else ""
    rows: list[list[Cell]] = [["popularity", "-", *_values(list(case.popularity().values()), share), None]]
    for (model, by), curve in trained.items():
        best = curve.best(case)
        rows.append([model, by, *_values([curve.metrics[name][best] for name in case.metrics], share), best])
    columns = ["model", "solver", *(f"{name}{unit}" for name in case.metrics), "best round"]
    return Table(f"{case.title}: test part", columns, rows)


def _values(values: list[float], share: bool) -> list[Cell]:
    return [PERCENT * value if share else value for value in values]


def _claim(case: Case, trained: dict[tuple[str, str], Curve]) -> Claim:
    name = case.metrics[0]
    best: dict[str, float] = {"popularity": case.popularity()[name]}
    for (model, by), curve in trained.items():
        if by == "L2M":  # which all models are trained by
            best[model] = curve.metrics[name][curve.best(case)]
    others = [value for model, value in best.items() if model != ALL]
    found = ", ".join(f"{model} {value:.4f}" for model, value in best.items())
    return Claim(
        "features help",
        case.title,
        all(better(best[ALL], value, larger=case.larger) for value in others),
        f"best {name} by L2M: {found}",
    )


__all__ = ["run"]
