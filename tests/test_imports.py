"""What is loaded when: importing is light, and reading data needs no training core."""

import subprocess
import sys


def loaded(code):
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(told.stdout.split())


def test_importing_fmfkit_loads_next_to_nothing():
    assert not {"numpy", "polars", "scipy", "click", "fmfkit._core"} & loaded("import fmfkit")


def test_reading_data_loads_neither_the_training_core_nor_a_command_line():
    modules = loaded("import fmfkit.data")
    heavy = {"click", "pluggy", "fmfkit.problem", "fmfkit.solvers", "fmfkit.training", "fmfkit.model", "fmfkit.plugins"}
    assert not heavy & modules


def test_every_public_name_is_there():
    import fmfkit

    for name in fmfkit.__all__:
        assert getattr(fmfkit, name) is not None
    assert set(fmfkit.__all__) <= set(dir(fmfkit))
