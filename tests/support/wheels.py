"""From a checkout to what others install: the sdist, the wheel that is built of it, and both tried.

The wheel must run on any Linux of the last years (auditwheel), use nothing but the stable ABI (abi3audit), and work on
every Python that is found. ``tox -e wheel`` runs it; what was built is in ``build/wheels`` afterwards.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "wheels"


def run(*command, cwd=ROOT):
    print("$", *command, flush=True)
    subprocess.run([*map(str, command)], cwd=cwd, check=True)


def pythons():
    """Return the first Python of each version from 3.11 on that starts: what pyenv puts first may not."""
    found = {}
    for folder in os.get_exec_path():
        for path in Path(folder).glob("python3.[1-9][0-9]"):
            if path.name >= "python3.11" and path.name not in found and starts(path):
                found[path.name] = path
    return [found[name] for name in sorted(found)]


def starts(python):
    return subprocess.run([python, "--version"], capture_output=True).returncode == 0


def try_on(python, wheel, folder):
    """Install a wheel in a clean environment, and use it from elsewhere than the checkout."""
    run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    run(inside, "-m", "pip", "install", "--quiet", wheel)
    run(inside, "-P", ROOT / "tests" / "support" / "smoke.py", cwd=folder)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch, "built")
        run(sys.executable, "-m", "build", "--outdir", built)  # the sdist, and the wheel of the sdist
        (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
        if "-abi3-" not in wheel.name:
            sys.exit(f"{wheel.name}: it is for one Python only")
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", FOLDER, wheel)
        shutil.copy(sdist, FOLDER)
        (repaired,) = FOLDER.glob("*.whl")
        run(sys.executable, "-m", "auditwheel", "show", repaired)
        run(sys.executable, "-m", "abi3audit", "--strict", "--verbose", repaired)
        for python in pythons():
            try_on(python, repaired, Path(scratch, python.name))
    print("built and tried:", *sorted(path.name for path in FOLDER.iterdir()))


if __name__ == "__main__":
    main()
