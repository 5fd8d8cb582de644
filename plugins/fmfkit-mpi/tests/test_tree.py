import numpy as np
import pytest
from fmfkit_mpi.tree import Room, add_up, middle, nodes_of


@pytest.mark.parametrize(("node", "expected"), [((0, 2), 1), ((0, 8), 4), ((4, 7), 6), ((0, 5), 4), ((0, 48), 32)])
def test_the_first_child_of_a_node_has_a_power_of_two_of_its_shards(node, expected):
    assert middle(node) == expected


@pytest.mark.parametrize("shards", [1, 2, 7, 16, 48])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_ranks_have_all_nodes_that_the_sum_is_made_of(shards, ranks):
    ranges = [(shards * r // ranks, shards * (r + 1) // ranks) for r in range(ranks)]
    nodes = [node for mine in ranges for node in nodes_of(mine, (0, shards))]
    assert [shard for node in nodes for shard in range(*node)] == list(range(shards))


def test_a_rank_has_one_node_where_shards_and_ranks_are_powers_of_two():
    for ranks in (1, 2, 4, 8, 16):
        for rank in range(ranks):
            assert len(nodes_of((16 * rank // ranks, 16 * (rank + 1) // ranks), (0, 16))) == 1


@pytest.mark.parametrize("shards", [5, 16])
def test_the_sum_has_the_same_bits_whoever_made_its_parts(shards):
    parts = np.random.default_rng(0).normal(size=(shards, 40)).astype(np.float32) * 10.0 ** np.arange(-20, 20)

    def leaf(shard, out):
        out[...] = parts[shard]

    whole = np.empty(40, np.float32)
    add_up((0, shards), whole, leaf, set(), Room())
    for ranks in range(1, shards + 1):
        ranges = [(shards * r // ranks, shards * (r + 1) // ranks) for r in range(ranks)]
        sums = {}
        for mine in ranges:
            for node in nodes_of(mine, (0, shards)):
                add_up(node, sums.setdefault(node, np.empty(40, np.float32)), leaf, set(), Room())
        starts = {node[0]: value for node, value in sums.items()}

        def of_node(shard, out, starts=starts):
            out[...] = starts[shard]

        again = np.empty(40, np.float32)
        add_up((0, shards), again, of_node, set(sums), Room())
        assert again.tobytes() == whole.tobytes()
    in_order = np.add.accumulate(parts)[-1]
    assert in_order.tobytes() != whole.tobytes()  # the order does matter
