"""The plugin "builtin": what fmfkit itself offers, by the hooks that everybody uses."""

from __future__ import annotations

from fmfkit.plugins.hookspecs import Spec, hookimpl

COMMANDS = {
    "compare": "Tell which of two models is better on the pairs of a file, and whether that may be chance.",
    "cross-validate": "Measure how a model is made, by holding out one part of a file after another.",
    "demo": "Train plain and feature-based factorization on generated data, and compare.",
    "evaluate": "Measure a model on the pairs of a file.",
    "explain": "Show what each feature adds to a score.",
    "export": "Write vectors of a model for other systems.",
    "explore": "Look at a model in a browser: search, recommendations, why, similar ones, a map.",
    "fit": "Train a model on a file of pairs, with tables of attributes.",
    "info": "Show version, instruction sets, OpenMP and compiler.",
    "inspect": "Show what a model file holds.",
    "new-plugin": "Write a plugin package to start from, with tests that pass.",
    "plugins": "List installed plugins, what they offer, and what failed.",
    "predict": "Predict the ratings of pairs of a file.",
    "recommend": "Show the best targets for queries of a model.",
    "similar": "Show the targets, or queries, most like some.",
}
"""The subcommands that fmfkit has, with a line for each: no plugin may take their names."""


@hookimpl
def fmfkit_losses() -> list[Spec]:
    """Offer the losses of the paper."""
    return [
        Spec("square", "fmfkit.losses:Square", "(s - y)², for ratings on a scale"),
        Spec("logistic", "fmfkit.losses:Logistic", "ln(1 + e^s) - y s, for y between 0 and 1"),
    ]


@hookimpl
def fmfkit_regularizers() -> list[Spec]:
    """Offer the elastic net."""
    return [Spec("elastic_net", "fmfkit.regularizers:ElasticNet", "l1 |w| + l2/2 w²")]


@hookimpl
def fmfkit_schedulers() -> list[Spec]:
    """Offer the schedulers."""
    return [
        Spec("random", "fmfkit.schedulers:RandomPartition", "new random sets of fixed size each round"),
        Spec("size_balanced", "fmfkit.schedulers:SizeBalanced", "random sets with nearly equal numbers of non-zeros"),
        Spec("in_order", "fmfkit.schedulers:InOrder", "sets of neighbouring features, the same every round"),
    ]


@hookimpl
def fmfkit_solvers() -> list[Spec]:
    """Offer the solvers."""
    return [
        Spec("naive", "fmfkit.solvers:Naive", "Algorithm 1: coordinate descent from sums over pairs"),
        Spec("l2m", "fmfkit.solvers:L2M", "Algorithm 2: coordinate descent from sums over instances"),
        Spec("pl2m", "fmfkit.solvers:PL2M", "Algorithm 3: sets of features updated in parallel"),
        Spec("panel", "fmfkit.solvers:Panel", "the default: eight latent dimensions at a time"),
        Spec("sgd", "fmfkit.solvers:SGD", "stochastic gradient descent, grouped by query"),
        Spec("gibbs", "fmfkit.solvers:Gibbs", "samples from the posterior; the model is their mean"),
        Spec("hogwild", "fmfkit.solvers:Hogwild", "lock-free stochastic gradient descent, pair by pair"),
        Spec("reference", "fmfkit.solvers:Reference", "Algorithms 1 to 3 in plain NumPy: the oracle"),
    ]


@hookimpl
def fmfkit_metrics() -> list[Spec]:
    """Offer the metrics; those of rankings are asked for with a depth, "ndcg@10"."""
    return [
        Spec("rmse", "fmfkit.recommend.evaluation:rmse", "root mean square error"),
        Spec("mae", "fmfkit.recommend.evaluation:mae", "mean absolute error"),
        Spec("log_loss", "fmfkit.recommend.evaluation:log_loss", "mean -ln p of the class, for y from 0 to 1"),
        Spec("auc", "fmfkit.recommend.evaluation:auc", "how often a positive is above a negative"),
        Spec(
            "precision", "fmfkit.recommend.evaluation:precision", "precision@k: share of the first k that is relevant"
        ),
        Spec("recall", "fmfkit.recommend.evaluation:recall", "recall@k: share of what is relevant among the first k"),
        Spec("map", "fmfkit.recommend.evaluation:average_precision", "map@k: mean average precision"),
        Spec("ndcg", "fmfkit.recommend.evaluation:ndcg", "ndcg@k: gains discounted by the logarithm of the rank"),
        Spec("mrr", "fmfkit.recommend.evaluation:mrr", "mrr@k: 1 / rank of the first relevant target"),
        Spec("coverage", "fmfkit.recommend.evaluation:coverage", "coverage@k: share of all targets that are ranked"),
        Spec("gini", "fmfkit.recommend.evaluation:gini", "gini@k: how unequally often targets are ranked, 0 to 1"),
        Spec("novelty", "fmfkit.recommend.evaluation:novelty", "novelty@k: how rare ranked targets are, in bits"),
    ]


@hookimpl
def fmfkit_callbacks() -> list[Spec]:
    """Offer the callbacks that need no function."""
    return [
        Spec("log", "fmfkit.training.callbacks:Log", "log:to=FILE writes a line of JSON per round"),
        Spec("progress", "fmfkit.training.callbacks:Progress", "prints a line per round"),
        Spec("time_budget", "fmfkit.training.callbacks:TimeBudget", "time_budget:seconds=60 stops after that time"),
        Spec("tolerance", "fmfkit.training.callbacks:Tolerance", "stops when a round lowers the objective by little"),
    ]


@hookimpl
def fmfkit_blocks() -> list[Spec]:
    """Offer the kinds of feature blocks."""
    return [
        Spec("categorical", "fmfkit.data.blocks:Categorical", "one value per instance"),
        Spec("tags", "fmfkit.data.blocks:Tags", "several values per instance, with a separator between"),
        Spec("text", "fmfkit.data.blocks:Text", "a bag of words"),
        Spec("taxonomy", "fmfkit.data.blocks:Taxonomy", "all ancestors, one column each"),
        Spec("numeric", "fmfkit.data.blocks:Numeric", "a number, or the bin it is in"),
        Spec("neighbours", "fmfkit.data.blocks:Neighbours", "links to other instances"),
        Spec("precomputed", "fmfkit.data.blocks:Precomputed", "a matrix"),
    ]


@hookimpl
def fmfkit_loaders() -> list[Spec]:
    """Offer the loaders of usual files."""
    return [
        Spec("movielens", "fmfkit.data.loaders:load_movielens", "a folder of MovieLens, of any size"),
        Spec(
            "libsvm", "fmfkit.data.formats:load_libsvm", "a file of libsvm or libFM: queries' features, then targets'"
        ),
        Spec("svdfeature", "fmfkit.data.formats:load_svdfeature", "a file of SVDFeature"),
    ]
