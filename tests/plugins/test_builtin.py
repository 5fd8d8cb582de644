"""The built-ins register through the hooks of everybody."""

import importlib.metadata

from fake_plugins import registry

from fmfkit import losses


def test_the_built_ins_register_through_the_hooks_of_everybody():
    built_in = registry().plugins["builtin"]
    assert built_in.status == "ok"
    assert built_in.version == importlib.metadata.version("fmfkit")
    assert {spec.name for spec in built_in.offers["solver"]} == {
        "naive",
        "l2m",
        "panel",
        "pl2m",
        "sgd",
        "gibbs",
        "hogwild",
        "reference",
    }
    assert registry().create("loss", "builtin:square") == losses.Square()


OPTIONS = {
    **{name: {"k": 3} for name in ("precision", "recall", "map", "ndcg", "mrr", "coverage", "gini", "novelty")},
    "log": {"to": "log.jsonl"},
    "time_budget": {"seconds": 1},
}


def test_everything_that_is_built_in_can_be_made_by_name_and_has_a_line_for_listings():
    for kind, specs in registry().plugins["builtin"].offers.items():
        for spec in specs:
            assert registry().load(kind, f"builtin:{spec.name}") is not None
            if kind not in ("block", "loader"):  # which are the thing itself
                assert registry().create(kind, f"builtin:{spec.name}", **OPTIONS.get(spec.name, {})) is not None
            assert spec.doc
