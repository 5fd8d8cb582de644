"""What ``fmfkit fit`` does, callable from Python: split, report, validate, tune, train, refit, evaluate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from fmfkit.arguments import whole
from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import Recognised, usual_split
from fmfkit.data.report import Report
from fmfkit.data.splits import Split
from fmfkit.notebooks import facts_table
from fmfkit.plugins.registry import resolve
from fmfkit.recommend.advice import advise
from fmfkit.recommend.baselines import Comparison
from fmfkit.recommend.evaluation import Metric, metric_of
from fmfkit.recommend.fmf import FMF, check_data, say, shows, trained, tuned, warn_of_collapse
from fmfkit.recommend.positives import Settled, settled
from fmfkit.recommend.prepared import some_queries
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.tuning import Tuned
from fmfkit.recommend.work import keep_to
from fmfkit.training.events import INTERRUPTED, AnyCallback


@attrs.frozen(kw_only=True, repr=False)
class Outcome:
    """What a recipe made."""

    recommender: Recommender
    tuned: Tuned | None
    """The search for settings, if there was one."""
    split: Split
    """How pairs were held out."""
    test: Dataset | None
    """The pairs that were held out for testing."""
    metrics: dict[str, float]
    """The model on them."""
    held_out: Comparison | None
    """The model on the validation part, beside what anybody could predict."""
    tested: Comparison | None
    """The same on the test part, by the first of the metrics."""
    refitted: bool
    """Whether the model was trained again on all training pairs, the validation part too."""

    advice: str | None
    """What to try next, if anything."""

    def __repr__(self) -> str:
        """Return it in a few lines."""
        return "\n".join(["Outcome", *(f"  {name:15} {value}" for name, value in self._facts())])

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        return facts_table("Outcome", self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """Return what is shown of it."""
        model = self.recommender.model
        again = ", trained again on all training pairs" if self.refitted else ""
        facts = [("trained", f"{model.history[-1].round} rounds{again}")]
        if self.tuned is not None:
            facts.append(("tuned", f"{self.tuned.metric} {self.tuned.value:.4f}, {len(self.tuned.trials)} trials"))
        if self.held_out is not None:
            facts.append(("validation", str(self.held_out)))
        if self.test is not None:
            told = ", ".join(f"{name} {value:.4f}" for name, value in self.metrics.items())
            facts.append(("test", f"{told} on {len(self.test):,} pairs ({self.split})"))
        return facts if self.advice is None else [*facts, ("advice", self.advice)]


@attrs.frozen(kw_only=True)
class Recipe:
    """How a model is made of data: what is held out, how settings and the round are chosen, what is measured.

    ``Recipe(test=0.1, split="cold-target", tune=40).run(data)`` is ``fmfkit fit --test 0.1 --split cold-target --tune
    40``. The test part is held out first, by the split; then a validation part of the rest, by the same split. What the
    validation part chose, settings and rounds, is trained again on both.
    """

    settings: FMF = attrs.field(factory=FMF)
    test: float = 0.0
    """The share of the pairs to hold out, and to measure the model on; 0 holds out none."""
    split: Split | None = None
    """How pairs are held out; by default of each query if the data has positives only, else at random."""
    validate: float = 0.1
    """The share of the training pairs that chooses the number of rounds; 0 trains all rounds."""
    refit: bool = True
    """Whether what the validation part chose is then trained on all training pairs, that part included."""
    tune: int = 0
    """How many settings to try; 0 trains with those given."""
    metric: str | Metric | None = None
    """What chooses the round, and settings; by default what suits the loss and the data."""
    metrics: Sequence[str | Metric] = ()
    """What is measured on the test part; by default what suits the loss and the data."""

    def check(self, start: Recommender | None = None) -> None:
        """Refuse what cannot be done, before any work."""
        if self.tune and start is not None:
            raise ValueError("tune: a model that another one starts from keeps its settings; leave out tune, or start")
        whole("tune", self.tune, least=0)
        resolve("loss", self.settings.loss)
        resolve("solver", self.settings.solver)
        if isinstance(self.settings.regularizer, str):
            resolve("regularizer", self.settings.regularizer)
        for metric in (*self.metrics, *([self.metric] if self.metric else [])):
            metric_of(metric)
        if self.tune and not self.validate:
            raise ValueError("tune: it needs a validation part: validate=0.1, or --validate 0.1")

    def run(
        self,
        data: Dataset,
        *,
        start: Recommender | None = None,
        progress: bool | None = None,
        callbacks: AnyCallback | Sequence[AnyCallback] = (),
        on_report: Callable[[Report], None] | None = None,
        on_tuned: Callable[[Tuned], None] | None = None,
        on_trained: Callable[[Recommender], None] | None = None,
    ) -> Outcome:
        """Make a model of data.

        Args:
            data: all pairs.
            start: a model to go on from, as for ``FMF.fit``.
            progress: whether to show it on stderr; by default on a terminal and in a notebook.
            callbacks: as for ``fmfkit.fit``; those that are given by name are made anew for each fit. A ``Checkpoint``
                keeps all of them, and what was chosen.
            on_report: called with the report on the data, before training.
            on_tuned: called with what a search found.
            on_trained: called with the model before it is measured, and before it is trained again on all pairs:
                nothing that was trained is lost. A fit that is interrupted is not trained again.
        """
        check_data(data, start)
        self.check(start)
        asked = {field.name: getattr(self, field.name) for field in attrs.fields(Recipe) if field.name != "settings"}
        keep_to(callbacks, data, self.settings, **asked, start=start)
        decided = settled(self.settings, data, start)
        settings, found = decided.settings, decided.found
        split = self.split or usual_split(data, positives=found.positives)
        test, held_out, search = None, None, None
        if self.test:
            data, test = data.split(split, self.test, settings.seed)
        if on_report is None:
            say(found, shown=shows(progress))
        else:
            on_report(data.report(test, found, start=None if start is None else start.encoder))
        train = data
        if self.validate:
            train, held_out = data.split(split, self.validate, settings.seed + 1)
        options: Any = {"metric": self.metric, "progress": progress, "callbacks": callbacks}
        if self.tune and held_out is not None:
            search = tuned(decided, train, trials=self.tune, validate=held_out, **options)
            if on_tuned is not None:
                on_tuned(search)
            decided, train, held_out = Settled(search.best, found), data, None
        made = first = trained(decided, train, validate=held_out, start=start, **options)
        if on_trained is not None:
            on_trained(made)
        if self.refit and held_out is not None and made.model.stopped != INTERRUPTED:
            again = refitted(made, found, data, start=start, **options)
            if again.model.stopped != INTERRUPTED:
                made = again
                if on_trained is not None:
                    on_trained(made)
        warn_of_collapse(made, chosen=decided.choose)
        measured = {} if test is None else made.evaluate(test, list(self.metrics) or None)
        validated = None if held_out is None or settings.negatives else self._validated(first, held_out)
        tested = None if test is None else made.compare(test, next(iter(self.metrics or measured)))
        return Outcome(
            recommender=made,
            tuned=search,
            split=split,
            test=test,
            metrics=measured,
            held_out=validated,
            tested=tested,
            refitted=made is not first,
            advice=advise(settings, first, tested or validated),
        )

    def _validated(self, made: Recommender, held_out: Dataset) -> Comparison | None:
        """Return how good a model is on its validation part."""
        if made.metric is None:
            return None
        metric = metric_of(made.metric if self.metric is None else self.metric)
        compared = made.compare(some_queries(held_out) if metric.ranks else held_out, metric)
        return attrs.evolve(compared, value=made.validation[len(made.model.history) - 1])


def refitted(made: Recommender, found: Recognised, data: Dataset, **options: Any) -> Recommender:
    """Train on all pairs, with the settings and as many rounds as a validation part chose."""
    given = {name: getattr(made.settings, name) for name in made.settings.given}
    settings = FMF(**given | {"rounds": max(1, len(made.model.history) - 1)})
    again = trained(Settled(settings, found), data, validate=None, label="refit", **options)
    return attrs.evolve(again, validation=made.validation, metric=made.metric)


__all__ = ["Outcome", "Recipe"]
