"""FMF: from a data set to a model that answers by ids, in one call."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import attrs

from fmfkit.arguments import whole
from fmfkit.data.dataset import Dataset
from fmfkit.data.positives import Recognised
from fmfkit.errors import DataError
from fmfkit.notebooks import in_notebook
from fmfkit.plugins.registry import resolve, resolve_callbacks
from fmfkit.problem.problem import Problem
from fmfkit.recommend.evaluation import Metric
from fmfkit.recommend.kinds import Component
from fmfkit.recommend.positives import Settled, settled
from fmfkit.recommend.prepared import Prepared
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import Settings, documented, metadata_of, names
from fmfkit.recommend.sweep import chosen, has_collapsed
from fmfkit.recommend.tuning import Tuned, search
from fmfkit.recommend.work import keep_to
from fmfkit.training.callbacks import Progress
from fmfkit.training.checkpoint import checkpoint_of
from fmfkit.training.events import AnyCallback
from fmfkit.training.progress import Logged, log


@documented
@attrs.frozen(kw_only=True, repr=False)
class FMF(Settings):
    """Feature-based matrix factorization with good defaults: no parameter is needed.

    ``fit(data, validate=0.1)`` keeps the round that is best on a validation part, and stops after ``patience`` rounds
    without a better one. ``tune(data)`` searches for better settings than the defaults.
    """

    def __attrs_post_init__(self) -> None:
        """Refuse settings that do not go together, and names that nobody offers."""
        super().__attrs_post_init__()
        for name in names():
            kind, value = metadata_of(name)["kind"], getattr(self, name)
            if isinstance(kind, Component) and isinstance(value, str):
                resolve(kind.kind, value)

    def problem(self, data: Dataset) -> Problem:
        """Return the problem of a data set; what ``fit`` would choose from the data stays at its defaults."""
        check_data(data)
        settings = settled(self, data).settings
        return Prepared.of(data, None, settings, None).problem(settings)

    def fit(
        self,
        data: Dataset,
        *,
        validate: Dataset | float | None = None,
        metric: str | Metric | None = None,
        start: Recommender | None = None,
        progress: bool | None = None,
        callbacks: AnyCallback | Sequence[AnyCallback] = (),
    ) -> Recommender:
        """Train.

        Args:
            data: the training data.
            validate: a data set with the same ids, or the share of ``data`` to set aside for choosing the round, at
                random, or of each query where the data has positives only; None trains all rounds on all data.
            metric: what decides on the validation part: "rmse", "mae", "log_loss", "auc", "ndcg@10", ..., or a
                ``Metric``; by default what suits the loss and the data.
            start: a model to go on from. ``data`` has what is new: pairs, queries, targets, features. The pairs that
                the model was trained on are remembered, but for those that ``data`` has too, and so are the features
                of instances that ``data`` says nothing of. Settings that are not given are the model's; its loss, its
                rank and what its data was taken as cannot be changed.
            progress: whether to show it on stderr; by default on a terminal and in a notebook.
            callbacks: as for ``fmfkit.fit``; a ``Checkpoint`` keeps all fits that it takes.
        """
        check_data(data, start)
        keep_to(callbacks, data, self, validate=validate, metric=metric, start=start)
        decided = settled(self, data, start)
        say(decided.found, shown=shows(progress))
        made = trained(
            decided, data, validate=validate, metric=metric, start=start, progress=progress, callbacks=callbacks
        )
        warn_of_nothing(made)
        warn_of_collapse(made, chosen=decided.choose)
        return made

    def tune(
        self,
        data: Dataset,
        *,
        trials: int = 30,
        validate: Dataset | float = 0.1,
        metric: str | Metric | None = None,
        progress: bool | None = None,
        callbacks: AnyCallback | Sequence[AnyCallback] = (),
    ) -> Tuned:
        """Search for the ``l2``, ``bias_l2`` and ``strengths`` that are best on a validation part; ``growth`` and
        ``balance`` too, where they are above 0. For positives only it searches ``l2``, ``cells``, ``balance`` and
        ``strengths``, one after another.

        It begins with these settings (for positives only, with those that ``fit`` would choose), and ends with random
        steps from the best so far; features are encoded and pairs laid out once. Then train with what it found:
        ``FMF(rank=32).tune(data).best.fit(data)``.

        Args:
            data: the training data; it must not hold what the model will be tested on.
            trials: how many settings to try.
            validate: as for ``fit``.
            metric: as for ``fit``.
            progress: as for ``fit``.
            callbacks: as for ``fit``; one that stops a fit ends the search. With a ``Checkpoint`` a search goes on at
                its trial.
        """
        check_data(data)
        keep_to(callbacks, data, self, validate=validate, metric=metric, trials=trials)
        decided = settled(self, data)
        say(decided.found, shown=shows(progress))
        return tuned(
            decided, data, trials=trials, validate=validate, metric=metric, progress=progress, callbacks=callbacks
        )


def check_data(data: Any, start: Any = None) -> None:
    """Refuse what is no data set, such as a table, and a start that is no trained model, such as a path."""
    if not isinstance(data, Dataset):
        raise TypeError(f"data: expected a Dataset, got {type(data).__name__}; Dataset.of(...) makes one of a table")
    if start is not None and not isinstance(start, Recommender):
        raise TypeError(
            f"start: expected a Recommender, got {type(start).__name__}; Recommender.load(path) reads one from a file"
        )
    if start is not None:
        _check_sides(data, start)


def _check_sides(data: Dataset, start: Recommender) -> None:
    """Refuse an update whose queries are what the model to start from calls its targets, or the other way round."""
    for role, other in (("query", "target"), ("target", "query")):
        column = data.columns.get(role)
        if column is not None and column == start.columns.get(other) != start.columns.get(role):
            raise DataError(
                f"data: column {column!r} was taken as the {role}, and is the {other} of the model to start from; read "
                "the table by the model's names: Dataset.of(..., columns=start.columns)"
            )


def trained(
    decided: Settled[FMF],
    data: Dataset,
    *,
    validate: Dataset | float | None,
    metric: str | Metric | None,
    start: Recommender | None,
    progress: bool | None,
    callbacks: AnyCallback | Sequence[AnyCallback],
    label: str = "fit",
) -> Recommender:
    """Train with settings that are settled; see ``FMF.fit``."""
    resolve_callbacks(callbacks)  # those that cannot be made are refused before any work
    prepared = Prepared.of(data, validate, decided.settings, start)
    prepared.watch(decided.settings, metric)  # what cannot be measured is refused before any work
    stream = sys.stderr if shows(progress) else None
    settings = chosen(decided, data, prepared, metric, stream, checkpoint_of(callbacks))
    shown: list[AnyCallback] = [Progress(label)] if shows(progress) else []
    shown += [Logged(label)] if log.isEnabledFor(logging.INFO) else []
    return prepared.fit(settings, metric, [*shown, *listed(callbacks)])


def warn_of_nothing(made: Recommender) -> None:
    """Warn the caller's caller of a model without a round: its validation part found none that was better than none."""
    if made.model.history and made.model.history[-1].round == 0:
        text = (
            "no round was better on the validation part than none: the model has learnt nothing; the pairs may be too "
            "few, or have nothing in common"
        )
        warnings.warn(text, UserWarning, stacklevel=3)


def warn_of_collapse(made: Recommender, *, chosen: bool) -> None:
    """Warn the caller's caller of a model of positives that ranks by popularity; ``chosen``: its penalties were."""
    if not made.settings.cells or not made.positives or not has_collapsed(made.model, made.seen):
        return
    advice = "the pairs have too little in common to learn more from" if chosen else "give a weaker penalty, or none"
    text = f"the model's factors are next to zero, so that it ranks by popularity alone: {advice}"
    warnings.warn(text, UserWarning, stacklevel=3)


def tuned(
    decided: Settled[FMF],
    data: Dataset,
    *,
    trials: int,
    validate: Dataset | float,
    metric: str | Metric | None,
    progress: bool | None,
    callbacks: AnyCallback | Sequence[AnyCallback],
) -> Tuned:
    """Search from settings that are settled; see ``FMF.tune``."""
    resolve_callbacks(callbacks)
    stream = sys.stderr if shows(progress) else None
    trials = whole("trials", trials, least=1)
    prepared = Prepared.of(data, validate, decided.settings, None)
    prepared.watch(decided.settings, metric)
    settings = chosen(decided, data, prepared, metric, stream, checkpoint_of(callbacks))
    return search(settings, prepared, trials=trials, metric=metric, stream=stream, callbacks=listed(callbacks))


def say(found: Recognised, *, shown: bool) -> None:
    """Tell the caller's caller what data is taken as: what is probably a mistake always, the rest if it is shown."""
    if found.note is not None:
        log.info("%s", found.note)
        if shown:
            print(found.note, file=sys.stderr)
    if found.warning is not None:
        warnings.warn(found.warning, UserWarning, stacklevel=3)


def shows(progress: bool | None) -> bool:
    """Return whether progress is shown: as asked, else on a terminal and in a notebook."""
    return (sys.stderr.isatty() or in_notebook()) if progress is None else progress


def listed(callbacks: AnyCallback | Sequence[AnyCallback]) -> list[AnyCallback]:
    """Return one callback or several as a list."""
    return [callbacks] if isinstance(callbacks, str) or callable(callbacks) else list(callbacks)


__all__ = ["FMF"]
