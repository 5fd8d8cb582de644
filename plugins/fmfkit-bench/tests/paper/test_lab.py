from fmfkit_bench import core
from fmfkit_bench.paper import cases
from fmfkit_bench.paper.lab import PANEL, Curve, Lab, method, parallel


def test_methods_are_named_as_in_the_paper():
    assert (parallel(50), parallel(5000), parallel(50000)) == ("PL2M-50", "PL2M-5K", "PL2M-50K")
    assert method("PL2M-5K").scheduler.size == 5000
    assert method("L2M") == core.l2m()
    assert method(PANEL) == core.panel()


def test_a_model_is_trained_once():
    case = cases.generated("ml10m", 0.002, 0)
    said = []
    lab = Lab([case], [case], rank=4, seed=0, threads=1, rounds=2, say=said.append)
    assert lab.curve(case, "L2M") is lab.curve(case, "L2M")
    assert len(said) == 1
    assert len(lab.curve(case, "L2M").objective) == 3


def test_the_best_round_of_ratings_has_the_least_error():
    case = cases.generated("ml10m", 0.002, 0)
    curve = Curve(metrics={"RMSE": [3.0, float("nan"), 1.0, 2.0, 1.0]})
    assert curve.best(case) == 2
