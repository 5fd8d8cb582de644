"""What came of a race on one data set: its tables, and the claims that are checked."""

from __future__ import annotations

import attrs
from fmfkit_bench.peers import judging, worker
from fmfkit_bench.peers.search import Found
from fmfkit_bench.peers.worker import Job, Measured
from fmfkit_bench.results.sections import Cell, Claim, Section, Table

from fmfkit.search import best_place

CLOSE = 1.005
"""Within half a percent of an error."""
OURS = ("fmfkit", "fmfkit, no setting", "fmfkit, sampled")


@attrs.frozen(kw_only=True)
class Outcome:
    """One system on one data set."""

    system: str
    bayesian: bool = False
    found: Found | None = None
    runs: list[Measured] = attrs.field(factory=list)
    untuned: Measured | None = None
    """The same with the settings that the search began with."""
    difference: float | None = None
    """The largest difference between the two runs' scores of test pairs."""
    skipped: str | None = None

    @property
    def run(self) -> Measured:
        """The faster of the runs, because the machine may be shared."""
        return min(self.runs, key=lambda run: run.seconds)

    def __str__(self) -> str:
        """Return what is shown as progress."""
        if self.skipped is not None or self.found is None:
            return f"skipped: {self.skipped}"
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in self.run.metrics.items())
        return f"{metrics}, {self.run.seconds:.2f} s; {self.found.trials} trials, {self.found.settings}"


def section(name: str, outcomes: list[Outcome], job: Job) -> Section:
    """Return the table and the claims of one data set."""
    done = _with_own_defaults([one for one in outcomes if one.runs])
    columns = list(done[0].run.metrics) if done else []
    ranking = "P@1" in columns
    ordered = sorted(done, key=lambda one: one.run.metrics[columns[0]], reverse=ranking)
    head = ["system", *columns, "no setting", "s", "best", "s to best", "peak MB", "s to rank", "runs agree", "trials"]
    tables = [Table(f"{name}: on the test part", head, [_row(one, columns, ranking) for one in ordered])]
    skipped: list[list[Cell]] = [[one.system, one.skipped] for one in outcomes if one.skipped is not None]
    if skipped:
        tables.append(Table(f"{name}: not measured", ["system", "reason"], skipped))
    decides = f"{job.decides} of {judging.JUDGED_QUERIES} queries" if ranking else "RMSE"
    return Section(
        name,
        name,
        f"Rank {job.rank}, {job.threads} threads; settings and rounds chosen on a validation part, in "
        f"{job.limits.trials} trials or {job.limits.seconds:g} s. no setting: {columns[0] if columns else 'the same'} "
        "with the settings that the search begins with, for fmfkit what ``fmfkit fit`` makes. s: seconds of training "
        "with the settings found. best: the best "
        f"{decides} on the test part after any round, and the seconds to it. peak MB: of the process while it trains. "
        f"s to rank: the first {worker.TOP} targets for the queries of the test part, {worker.TOP_QUERIES} at most, by "
        "the system itself, or by NumPy on its factors, on one thread, where it cannot. runs agree: whether two runs "
        "with the same seed give the same scores, or their largest difference.",
        tables=tables,
        claims=_claims(name, done, ranking),
    )


def _with_own_defaults(done: list[Outcome]) -> list[Outcome]:
    """Return outcomes in which fmfkit without a setting is what its users get, where that was measured too."""
    ours = next((one.run for one in done if one.system == OURS[1]), None)
    return [attrs.evolve(one, untuned=ours) if one.system in OURS[:2] else one for one in done]


def _row(one: Outcome, columns: list[str], ranking: bool) -> list[Cell]:
    run = one.run
    place = best_place(run.values, larger=ranking)
    return [
        f"{one.system} (Bayesian)" if one.bayesian else one.system,
        *(run.metrics[column] for column in columns),
        None if one.untuned is None else one.untuned.metrics[columns[0]],
        run.seconds,
        run.values[place],
        run.round_seconds[place],
        None if run.peak_bytes is None else round(run.peak_bytes / 1e6),
        run.top_seconds,
        "yes" if one.difference == 0 else f"{one.difference:.1g}",
        one.found.trials if one.found else None,
    ]


def _claims(name: str, done: list[Outcome], ranking: bool) -> list[Claim]:
    mine = next((one for one in done if one.system == "fmfkit"), None)
    others = [one for one in done if one.system not in OURS and not one.bayesian]
    if not others:
        return []
    if mine is None:
        return [Claim("fmfkit takes part", name, False, "it was not measured")]
    if ranking:
        return [_ahead(name, metric, mine, others, more=True) for metric in list(mine.run.metrics)[:2]]  # P@1, MAP
    return [_ahead(name, "RMSE", mine, others, more=False), _fastest(name, mine, others), *_untuned(name, mine, others)]


def _untuned(name: str, mine: Outcome, others: list[Outcome]) -> list[Claim]:
    """Return what is claimed of systems that are given no setting, where fmfkit was measured as its users get it."""
    values = {one.system: one.untuned.metrics["RMSE"] for one in others if one.untuned is not None}
    if mine.untuned is None or not values:
        return []
    value, best = mine.untuned.metrics["RMSE"], min(values, key=lambda system: values[system])
    found = f"fmfkit {value:.4f}, {best} {values[best]:.4f}"
    return [Claim("without a setting fmfkit's RMSE is at or below every other's", name, value <= values[best], found)]


def _fastest(name: str, mine: Outcome, others: list[Outcome]) -> Claim:
    error = mine.run.metrics["RMSE"]
    near = [one for one in others if one.run.metrics["RMSE"] <= CLOSE * error]
    times = ", ".join(f"{one.system} {one.run.seconds:.2f} s" for one in near) or "no other came so close"
    holds = all(mine.run.seconds <= one.run.seconds for one in near)
    what = "fmfkit is the fastest of those within 0.5 % of its error"
    return Claim(what, name, holds, f"fmfkit {mine.run.seconds:.2f} s; {times}")


def _ahead(name: str, metric: str, mine: Outcome, others: list[Outcome], *, more: bool) -> Claim:
    value = mine.run.metrics[metric]
    best = (max if more else min)(others, key=lambda one: one.run.metrics[metric])
    other = best.run.metrics[metric]
    what = f"fmfkit's {metric} is at or {'above' if more else 'below'} every point estimate's"
    return Claim(
        what, name, value >= other if more else value <= other, f"fmfkit {value:.4f}, {best.system} {other:.4f}"
    )


__all__ = ["Outcome", "section"]
