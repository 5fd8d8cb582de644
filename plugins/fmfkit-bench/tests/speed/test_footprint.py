from fmfkit_bench.data import shapes
from fmfkit_bench.speed import elsewhere, footprint


def test_the_process_trains_on_the_same_problem(tmp_path):
    shape = shapes.generate("weibo", 0.0005)
    footprint.write(shape, tmp_path)
    read, made = elsewhere.read(tmp_path, 4), shape.problem(4)
    assert (read.pairs, read.X.nonzeros, read.Z.nonzeros) == (made.pairs, made.X.nonzeros, made.Z.nonzeros)
    assert list(read.X.blocks) == list(made.X.blocks)
