"""From an empty folder to what others install, for every kind of plugin that ``fmfkit new-plugin`` writes.

Of each package: its own tox, on this Python; ``python -m build``; then the sdist and the wheel that were built, each
installed and used in a clean environment of another Python. fmfkit comes from a folder of wheels. ``tox -e publish``
runs it; names of kinds, such as ``loss`` or ``solver-c``, choose some of them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_args

from fmfkit.cli.scaffold import COMPILERS, Kind, new_plugin

ROOT = Path(__file__).parents[2]
HERE = f"py{sys.version_info.major}{sys.version_info.minor}"
KINDS = {
    "-".join(filter(None, (kind, compiler))): (kind, compiler)
    for kind in get_args(Kind)
    for compiler in (None, *(name for name, kinds in COMPILERS.items() if kind in kinds))
}


class StepError(Exception):
    """A step did not succeed."""


def run(*command, cwd):
    done = subprocess.run([*map(str, command)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(f"$ {' '.join(map(str, command))}\n{done.stdout}", flush=True)
        raise StepError
    return done.stdout


def other_pythons():
    """Return a Python for the sdist and one for the wheel, other ones than this as far as there are."""
    names = (f"python3.{minor}" for minor in range(11, 30) if minor != sys.version_info.minor)
    found = [path for path in map(shutil.which, names) if path] or [sys.executable]
    return found[0], found[-1]


def clean_environment(python, folder):
    """Return the Python of an environment that has fmfkit and pytest."""
    run(python, "-m", "venv", folder, cwd=ROOT)
    inside = folder / "bin" / "python"
    run(inside, "-m", "pip", "install", "fmfkit", "pytest", cwd=folder)
    return inside


def install_and_use(python, package, pattern):
    """Install what was built, find it among the plugins, run its tests from elsewhere, and take it away again."""
    (built,) = (package / "dist").glob(pattern)
    run(python, "-m", "pip", "install", built, cwd=package.parent)
    if package.name.removeprefix("fmfkit-").replace("-", "_") not in run(python, "-m", "fmfkit", "plugins", cwd="/"):
        raise StepError
    tests = ("pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", "-k", "not conformance")
    run(python, "-m", *tests, package / "tests", cwd="/")
    run(python, "-m", "pip", "uninstall", "-y", package.name, cwd=package.parent)


def steps_of(name, folder, environments):
    kind, compiler = KINDS[name]
    package = folder / f"fmfkit-tried-{name}"
    return {
        "scaffold": lambda: new_plugin(f"tried-{name}", kind, folder, compiler=compiler),
        f"tox {HERE}, types": lambda: run(sys.executable, "-m", "tox", "-e", f"{HERE},types", cwd=package),
        "build": lambda: run(sys.executable, "-m", "build", cwd=package),
        "sdist": lambda: install_and_use(environments[0], package, "*.tar.gz"),
        "wheel": lambda: install_and_use(environments[1], package, "*.whl"),
    }


def main(names, folder):
    wheels = folder / "wheels"
    wheel = (sys.executable, "-m", "pip", "wheel", "--no-deps", ROOT, "-w", wheels, f"-Cbuild-dir={folder / 'build'}")
    run(*wheel, cwd=folder)
    os.environ["PIP_FIND_LINKS"] = f"{wheels} {os.environ.get('PIP_FIND_LINKS', '')}"
    pythons = other_pythons()
    print("the sdist on", pythons[0], "the wheel on", pythons[1], flush=True)
    environments = [clean_environment(python, folder / f"clean{k}") for k, python in enumerate(pythons)]
    failed = False
    for name in names:
        for step, take in steps_of(name, folder, environments).items():
            try:
                take()
            except StepError:
                failed = True
                print(f"{name}: {step}: FAILED", flush=True)
                break
            print(f"{name}: {step}: ok", flush=True)
    return int(failed)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        sys.exit(main(sys.argv[1:] or list(KINDS), Path(made)))
