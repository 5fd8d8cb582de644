import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
MORE = """

class Broken(Means):
    def train(self, task, settings, note):
        raise ValueError("it broke")


class Counts(Means):
    ranks = True

    def train(self, task, settings, note):
        (queries, targets), seen = task.data.shape, np.bincount(task.data.target, minlength=task.data.shape[1])
        note(lambda: Factors(np.zeros((queries, 1)), np.zeros((targets, 1)), 0.0, seen * 1.0))


@hookimpl
def fmfkit_bench_peers():
    return [
        System("means", "numpy", "numpy", Means),
        System("absent", "no_such_module", "no-such-package", "no_such_module:Adapter"),
        System("broken", "numpy", "numpy", Broken),
        System("counts", "numpy", "numpy", "toys:Counts"),
    ]
"""


def install(place, name, source):
    """Install a package with adapters in a folder, where processes find it."""
    about = place / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (place / f"{name}.py").write_text(source)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[fmfkit_bench]\n{name} = {name}\n")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs a package with adapters."""
    place = tmp_path / "installed"
    place.mkdir()
    monkeypatch.syspath_prepend(place)
    monkeypatch.setenv("PYTHONPATH", str(place))
    return lambda name, source: install(place, name, source)


@pytest.fixture
def toys(installed):
    """Install a package with the README's system and some more."""
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    installed("toys", example + MORE)
