import numpy as np
from fmfkit_bench.data import shapes
from fmfkit_bench.speed import growth


def test_one_quantity_grows_at_a_time():
    shape = shapes.generate("ml10m", 0.002)
    draws = np.random.default_rng(0).random(len(shape.train))
    grown = growth.sizes(shape, draws, (2, 4), 4)
    assert tuple(grown) == growth.QUANTITIES
    pairs = [build().pairs for _, build in grown["|O|"]]
    assert pairs[0] < pairs[1] < pairs[2] == len(shape.train)
    assert [build().pairs for part, build in grown["|O|"] if part == 0.5] == [shape.problem(4, sample=0.5).pairs]
    values = [build().X.nonzeros for _, build in grown["‖X‖₀"]]
    assert values[0] < values[1] < values[2] == shape.problem(4).X.nonzeros
    assert [build().rank for _, build in grown["d"]] == [2, 4]
