"""Adapters: fmfkit itself, and the systems that install with ``fmfkit-bench[peers]``."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import attrs
import numpy as np
import scipy.sparse as sp
from fmfkit_bench.peers.interface import Choice, Factors, Knobs, Note, Number, Peer, Rows, Settings, Task, best_of
from numpy.typing import NDArray

from fmfkit import FMF, Dataset, Model, Negatives, RoundEvent
from fmfkit.data import Encoder


@attrs.frozen(eq=False)
class OurModel:
    """A model of fmfkit's."""

    model: Model

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return scores."""
        return self.model.score(query, target)

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets."""
        return self.model.recommend(queries, k, exclude=known).targets


SETTINGS = ("balance", "bias_l2", "growth", "loss", "scale")
"""What the search finds for ``FMF`` as it stands."""


class Fmfkit(Peer):
    """fmfkit by its front door, ``fmfkit.FMF``."""

    name, module, install = "fmfkit", "fmfkit", "fmfkit"
    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return what makes the penalty, and for ranking the loss, how many negatives are drawn, and the balance."""
        sides = Encoder.learn(_without_new_ids(task)).strengths({})
        strengths: dict[str, Number | Choice] = {
            f"{side}.{name}": Number(start)
            for side, blocks in zip(("query", "target"), sides, strict=True)
            for name, start in blocks.items()
            if len(blocks) > 1
        }
        if not task.ranking:
            return {
                "l2": Number(0.5), "bias_l2": Number(5.0), "scale": Choice(("observations", "uniform")),
                "growth": Choice((0.0, 0.5, 1.0)), **strengths,
            }  # fmt: skip
        most = min(100.0, task.data.shape[0] * task.data.shape[1] / len(task.data))
        ranking: dict[str, Number | Choice] = {
            "loss": Choice(("logistic", "square")), "ratio": Number(min(most, 6e6 / len(task.data)), 1.0, most),
            "l2": Number(10.0), "bias_l2": Number(5.0), "balance": Number(0.3, 0.01, 1.0),
        }  # fmt: skip
        return ranking | strengths

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit, with a callback."""
        front = FMF(
            rank=task.rank, rounds=task.rounds, threads=task.threads, seed=task.seed, l2=_l2(task, settings),
            strengths={name: value for name, value in settings.items() if "." in name},
            negatives=Negatives(ratio=settings["ratio"]) if task.ranking else None,
            **{"scale": "uniform"} | {name: value for name, value in settings.items() if name in SETTINGS},
        )  # fmt: skip

        def after(event: RoundEvent) -> None:
            if event.record.round > 0 and note(lambda: OurModel(event.model())):
                event.stop("enough")

        front.fit(_without_new_ids(task), progress=False, callbacks=after)


def _l2(task: Task, settings: Settings) -> float:
    """Return the penalty of the factors; of ratings, it is searched per observation, whatever its scale."""
    uniform = settings.get("scale") == "uniform"
    return float(settings["l2"] * (pairs_of_each(task) if uniform else 1.0))


def pairs_of_each(task: Task) -> float:
    """Return how many pairs a row of the larger side has: what a penalty is multiplied by that is not per pair."""
    return len(task.data) / max(task.data.shape)


def _without_new_ids(task: Task) -> Dataset:
    """Return the data, queries without a feature of their own where those to be judged by are new."""
    return attrs.evolve(task.data, queries=attrs.evolve(task.data.queries, indicator=not task.new_queries))


@attrs.frozen(eq=False)
class ImplicitModel:
    """implicit's own ranking."""

    model: Any

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return scores."""
        return Factors(self.model.user_factors, self.model.item_factors).score(query, target)

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets."""
        ranked = self.model.recommend(queries, known[queries], N=min(k, known.shape[1]))
        return np.where(ranked[1] > np.finfo(np.float32).min, ranked[0], -1)


class ImplicitALS(Peer):
    """Weighted alternating least squares over all cells."""

    name, module, install = "implicit ALS", "implicit", "implicit"
    parts = ("implicit.cpu.als",)
    rates = False

    def knobs(self, task: Task) -> Knobs:
        """Return the penalty, and the weight of positives."""
        return {"regularization": Number(0.05), "alpha": Number(10.0)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit, with a callback."""
        als = importlib.import_module("implicit.cpu.als")
        model = als.AlternatingLeastSquares(
            factors=task.rank, iterations=task.rounds, num_threads=task.threads, random_state=task.seed, **settings
        )
        _watched(model, task, note)


class ImplicitBPR(Peer):
    """Bayesian personalized ranking by stochastic gradient descent."""

    name, module, install = "implicit BPR", "implicit", "implicit"
    parts = ("implicit.cpu.bpr",)
    rates = False

    def knobs(self, task: Task) -> Knobs:
        """Return the learning rate and the penalty."""
        return {"learning_rate": Number(0.05), "regularization": Number(0.01)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit, with a callback; ten epochs, each as many draws as there are pairs, are a round."""
        bpr = importlib.import_module("implicit.cpu.bpr")
        model = bpr.BayesianPersonalizedRanking(
            factors=task.rank, iterations=10 * task.rounds, num_threads=task.threads, random_state=task.seed, **settings
        )
        _watched(model, task, note, every=10)


class _EnoughError(Exception):
    """Ends a fit of implicit's, which has no other way."""


def _watched(model: Any, task: Task, note: Note, every: int = 1) -> None:
    """Fit, and note every so many epochs."""

    def after(epoch: int, *rest: Any) -> None:
        if (epoch + 1) % every == 0 and note(lambda: ImplicitModel(model)):
            raise _EnoughError

    with contextlib.suppress(_EnoughError):
        model.fit(task.matrix, show_progress=False, callback=after)


class LightFM(Peer):
    """LightFM with the features of both sides."""

    name, module, install = "LightFM", "lightfm", "lightfm-next"
    rates = False
    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return the loss, the learning rate, the penalty and how long WARP looks for a violation."""
        return {
            "loss": Choice(("warp", "bpr", "logistic")), "learning_rate": Number(0.05), "alpha": Number(1e-6),
            "max_sampled": Number(10, least=2, most=100, whole=True),
        }  # fmt: skip

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Train two epochs at a time; new queries have no identity of their own."""
        given = dict(settings)
        alpha = given.pop("alpha")
        model = importlib.import_module("lightfm").LightFM(
            no_components=task.rank, random_state=task.seed, item_alpha=alpha, user_alpha=alpha, **given
        )
        X, Z = task.features(0, identity=not task.new_queries), task.features(1)
        matrix = sp.coo_matrix(task.matrix)

        def factors() -> Factors:
            query_bias, queries = model.get_user_representations(X)
            target_bias, targets = model.get_item_representations(Z)
            return Factors(queries, targets, query_bias, target_bias)

        for _ in range(task.rounds):
            model.fit_partial(matrix, user_features=X, item_features=Z, epochs=2, num_threads=task.threads)
            if note(factors):
                break


@attrs.frozen(eq=False)
class CmfrecModel:
    """cmfrec's own prediction and ranking."""

    model: Any

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return scores."""
        return np.asarray(self.model.predict(query, target))

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets, query by query."""
        seen = [known.indices[known.indptr[row] : known.indptr[row + 1]] for row in queries]
        ranked = np.full((len(queries), k), -1)
        for place, (query, left_out) in enumerate(zip(queries, seen, strict=True)):
            n = min(k, known.shape[1] - len(left_out))
            if n > 0:
                ranked[place, :n] = self.model.topN(int(query), n=n, exclude=left_out)
        return ranked


class Cmfrec(Peer):
    """Collective matrix factorization: side information in matrices of their own."""

    name, module, install = "cmfrec", "cmfrec", "cmfrec"
    ranks = False

    def knobs(self, task: Task) -> Knobs:
        """Return the penalty, for each pair or the same for all, iterations, side information, and its weight."""
        return {
            "lambda_": Number(0.05), "scale_lam": Choice((True, False)),
            "niter": Number(10, least=2, most=50, whole=True),
            "side": Choice(("none", "implicit", "features", "both")), "w_side": Number(0.1),
        }  # fmt: skip

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit once."""
        side, weight, scaled = settings["side"], settings["w_side"], settings["scale_lam"]
        model = importlib.import_module("cmfrec").CMF(
            k=task.rank, lambda_=settings["lambda_"] * (1.0 if scaled else pairs_of_each(task)), scale_lam=scaled,
            niter=settings["niter"], use_float=True, precompute_for_predictions=False,
            w_user=weight, w_item=weight, w_implicit=weight, add_implicit_features=side in ("implicit", "both"),
            NA_as_zero_user=True, NA_as_zero_item=True, nthreads=task.threads, random_state=task.seed + 1,
            verbose=False,
        )  # fmt: skip
        users, items = (
            task.features(k, identity=False, implicit=False) if side in ("features", "both") else None for k in (0, 1)
        )
        model.fit(
            X=sp.coo_matrix(task.matrix), U=None if users is None else sp.coo_matrix(users),
            I=None if items is None else sp.coo_matrix(items),
        )  # fmt: skip
        note(lambda: CmfrecModel(model))


class Libmf(Peer):
    """LIBMF: plain matrix factorization by blocked stochastic gradient descent."""

    name, module, install = "LIBMF", "libmf", "libmf"
    parts = ("libmf.mf",)
    ranks = False

    def knobs(self, task: Task) -> Knobs:
        """Return the penalty, the learning rate and iterations."""
        return {
            "lambda": Number(0.05), "eta": Number(0.1, most=0.5),
            "iterations": Number(20, least=2, most=200, whole=True),
        }  # fmt: skip

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit once, on scores without their mean, which is what rows that were never seen get."""
        data = task.data
        mean = float(data.score.mean())
        table = np.column_stack([data.query, data.target, data.score - mean]).astype(np.float32)
        engine = importlib.import_module("libmf.mf").MF(
            k=task.rank, nr_iters=settings["iterations"], eta=settings["eta"], lambda_p1=0.0, lambda_q1=0.0,
            lambda_p2=settings["lambda"], lambda_q2=settings["lambda"], nr_threads=task.threads, quiet=True,
        )  # fmt: skip
        engine.fit(table)
        P, Q = (_filled(part, n) for part, n in zip((engine.p_factors(), engine.q_factors()), data.shape, strict=True))
        note(lambda: Factors(P, Q, mean))


def _filled(factors: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return a row for each instance, zeros where it was never seen."""
    filled = np.zeros((rows, factors.shape[1]), np.float32)
    filled[: len(factors)] = np.nan_to_num(factors)
    return filled


class Surprise(Peer):
    """Surprise's SVD: biased matrix factorization by stochastic gradient descent, on one thread."""

    name, module, install = "Surprise SVD", "surprise", "scikit-surprise"
    parts = ("pandas",)
    ranks = False

    def knobs(self, task: Task) -> Knobs:
        """Return the learning rate, the penalties of factors and biases, and epochs."""
        return {
            "lr_all": Number(0.01), "reg_all": Number(0.05), "reg_bias": Number(0.05),
            "n_epochs": Number(20, least=2, most=100, whole=True),
        }  # fmt: skip

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Fit once."""
        surprise: Any = importlib.import_module("surprise")
        pandas: Any = importlib.import_module("pandas")
        data = task.data
        frame = pandas.DataFrame({"u": data.query, "i": data.target, "r": data.score})
        reader = surprise.Reader(rating_scale=(data.score.min(), data.score.max()))
        train = surprise.Dataset.load_from_df(frame, reader).build_full_trainset()
        given = dict(settings)
        bias = given.pop("reg_bias")
        model = surprise.SVD(n_factors=task.rank, random_state=task.seed, reg_bu=bias, reg_bi=bias, **given).fit(train)

        def factors() -> Factors:
            q, p = data.shape
            users = np.array([train.to_raw_uid(k) for k in range(train.n_users)])
            items = np.array([train.to_raw_iid(k) for k in range(train.n_items)])
            U, V, bu, bi = np.zeros((q, task.rank)), np.zeros((p, task.rank)), np.zeros(q), np.zeros(p)
            U[users], V[items], bu[users], bi[items] = model.pu, model.qi, model.bu, model.bi
            return Factors(U, V, bu + train.global_mean, bi)

        note(factors)


class MyFM(Peer):
    """myFM: Bayesian factorization machines by Gibbs sampling, on one thread."""

    name, module, install = "myFM", "myfm", "'myfm' 'setuptools<81'"
    ranks = False
    takes_features = True
    bayesian = True

    def knobs(self, task: Task) -> Knobs:
        """Return the number of samples; it finds penalties itself."""
        return {"n_iter": Number(60, least=30, most=300, whole=True)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Sample, with both sides as relation blocks."""
        myfm: Any = importlib.import_module("myfm")
        matrices = [task.features(side) for side in (0, 1)]

        def blocks(query: Rows, target: Rows) -> list[Any]:
            rows = zip((query, target), matrices, strict=True)
            return [myfm.RelationBlock(row, sp.csr_matrix(matrix, dtype=np.float64)) for row, matrix in rows]

        model = myfm.MyFMRegressor(rank=task.rank, random_seed=task.seed)
        groups = [block.shape[1] for side in task.sides for block in side.values()]
        model.fit(
            None, task.data.score.astype(np.float64), X_rel=blocks(task.data.query, task.data.target),
            n_iter=settings["n_iter"], n_kept_samples=settings["n_iter"] * 2 // 3, group_shapes=groups,
        )  # fmt: skip
        note(lambda: MyFMModel(lambda query, target: model.predict(None, blocks(query, target))))


@attrs.frozen(eq=False)
class MyFMModel:
    """A sample of machines, which can be asked for scores of pairs only."""

    score: Any

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Refuse: to score all targets of a query, one pair at a time in each sample, is no way to rank."""
        raise NotImplementedError


@attrs.frozen(eq=False)
class IrspackModel:
    """irspack's own ranking."""

    model: Any

    def score(self, query: Rows, target: Rows) -> NDArray[Any]:
        """Return scores."""
        return Factors(self.model.get_user_embedding(), self.model.get_item_embedding()).score(query, target)

    def top(self, queries: Rows, k: int, known: sp.csr_matrix) -> NDArray[Any]:
        """Return the best targets."""
        parts = np.array_split(queries, -(-len(queries) // 512))
        return np.concatenate([best_of(self.model.get_score(part), k, known[part]) for part in parts])


class Irspack(Peer):
    """irspack's alternating least squares over all cells, with features where there are any."""

    name, module, install = "irspack iALS", "irspack", "irspack"
    rates = False
    takes_features = True

    def knobs(self, task: Task) -> Knobs:
        """Return the weight of the other cells, the penalty, its power of frequency, and how far features decide."""
        knobs: dict[str, Number | Choice] = {"alpha0": Number(0.1), "reg": Number(1e-3), "nu": Number(1.0, 0.1, 1.5)}
        if task.new_queries:
            return knobs | {"lambda_feature": Number(1.0)}
        return knobs | {"features": Choice((False, True)), "lambda_feature": Number(1.0)}

    def train(self, task: Task, settings: Settings, note: Note) -> None:
        """Train an epoch at a time."""
        more: dict[str, Any] = {}
        if settings.get("features", True):
            for side, what in enumerate(("user", "item")):
                matrix = task.features(side, identity=False, implicit=False)
                if matrix is not None:
                    more |= {f"{what}_features": matrix, f"lambda_{what}_feature": settings["lambda_feature"]}
        model = importlib.import_module("irspack").IALSRecommender(
            sp.csr_matrix(task.matrix, dtype=np.float64), n_components=task.rank, alpha0=settings["alpha0"],
            reg=settings["reg"], nu=settings["nu"], n_threads=task.threads, random_seed=task.seed, **more,
        )  # fmt: skip
        model.start_learning()
        for _ in range(task.rounds):
            model.run_epoch()
            if note(lambda: IrspackModel(model)):
                break


__all__ = ["Cmfrec", "Fmfkit", "ImplicitALS", "ImplicitBPR", "Irspack", "Libmf", "LightFM", "MyFM", "Surprise"]
