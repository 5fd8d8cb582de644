"""Components by name with options."""

from typing import Annotated

import attrs
import pytest
from fake_plugins import plugin, registry
from problems import Case

from fmfkit import Penalty, Spec, fit, losses, regularizers, schedulers, solvers
from fmfkit.plugins import names
from fmfkit.plugins.registry import resolve


@attrs.frozen
class Bent(losses.Square):
    """A loss with options of every plain type."""

    at: float = 1.0
    word: str = "none"
    whole: int = 3
    flag: bool = False
    many: tuple[float, ...] = attrs.field(default=(), converter=tuple)


def needs(k: int) -> losses.Square:
    return losses.Square()


def foggy(k=3, more: Annotated[int, []] = 1):
    return Bent(whole=k + more)


foggy.__annotations__["k"] = "ForTypeCheckersOnly | None"


MINE = registry(mine=plugin(fmfkit_losses=[Spec("bent", Bent), Spec("needs", needs), Spec("foggy", foggy)]))


def test_annotations_that_cannot_be_read_are_not_checked():
    assert MINE.create("loss", "foggy:k=4,more=2") == Bent(whole=6)
    with pytest.raises(ValueError, match=r"it has \['k', 'more'\]"):
        MINE.create("loss", "foggy:j=4")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("huber", ("huber", {})),
        ("losses:huber", ("losses:huber", {})),
        ("huber:delta=0.5", ("huber", {"delta": "0.5"})),
        ("mine:huber:delta=0.5,foo=bar", ("mine:huber", {"delta": "0.5", "foo": "bar"})),
        ("log:path=a:b,c.jsonl", ("log", {"path": "a:b,c.jsonl"})),
        ("pl2m:scheduler=random:size=9", ("pl2m", {"scheduler": "random:size=9"})),
        ("a:x=[1,2],y=3", ("a", {"x": "[1,2]", "y": "3"})),
    ],
)
def test_a_name_ends_where_its_options_begin(text, expected):
    assert names.parse(text) == expected


@pytest.mark.parametrize("text", ["delta=0.5", ":delta=0.5", "huber:=3", "huber:delta=", "huber:a b=1", "h:a=1,a=2"])
def test_a_text_that_is_no_name_with_options_is_refused(text):
    with pytest.raises(ValueError, match="expected a name and options"):
        names.parse(text)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("at=.5", Bent(at=0.5)),
        ("at=2", Bent(at=2)),
        ("at=1e-3,flag=true", Bent(at=0.001, flag=True)),
        ("word=7", Bent(word="7")),
        ("whole=-4,word=a,b", Bent(whole=-4, word="a,b")),
        ("many=[1, 2.5]", Bent(many=(1, 2.5))),
    ],
)
def test_options_are_read_as_what_the_factory_declares(options, expected):
    assert MINE.create("loss", f"mine:bent:{options}") == expected
    assert MINE.create("loss", f"bent:{options}") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bent:att=1", r"loss 'bent': there is no option 'att'; it has \['at', .*; did you mean 'at'\?"),
        ("square:delta=1", r"loss 'square': there is no option 'delta'; it has none"),
        ("bent:whole=0.5", "loss 'bent': whole must be of type int, got '0.5'"),
        ("bent:flag=1", "loss 'bent': flag must be of type bool, got '1'"),
        ("bent:at=much", "loss 'bent': at must be of type float, got 'much'"),
        ("bent:many=3", "loss 'bent' with many=3: 'int' object is not iterable"),
        ("needs", "loss 'needs': it needs the option 'k': NAME:k=VALUE"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(text, message):
    with pytest.raises(ValueError, match=message):
        MINE.create("loss", text)


def test_the_factory_s_own_refusal_is_told_with_what_was_given():
    with pytest.raises(
        ValueError, match=r"solver 'sgd' with learning_rate=-1: learning_rate: expected a finite number above 0"
    ):
        resolve("solver", "sgd:learning_rate=-1")


def test_names_with_options_are_taken_wherever_names_are():
    assert resolve("solver", "pl2m:scheduler=random:size=9") == solvers.PL2M(scheduler=schedulers.RandomPartition(9))
    assert resolve("solver", "builtin:sgd:learning_rate=0.25") == solvers.SGD(learning_rate=0.25)
    assert Penalty("elastic_net:l1=0.1,l2=0.5").regularizer == regularizers.ElasticNet(l1=0.1, l2=0.5)
    composed = solvers.Sequence(solvers.Stage("sgd:learning_rate=0.01", rounds=1), "pl2m:scheduler=in_order:size=3")
    assert composed.stages[1].solver == solvers.PL2M(scheduler=schedulers.InOrder(3))
    by_name, itself = (
        fit(Case().build(), solver=solver, rounds=2)
        for solver in ("pl2m:scheduler=in_order:size=3", solvers.PL2M(scheduler=schedulers.InOrder(3)))
    )
    assert by_name.P.tobytes() == itself.P.tobytes()
