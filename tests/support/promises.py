"""What fmfkit promises, tried: the tests behind each promise, and how much they tried.

``tox -e promises`` tries a little of each promise, ``-- --long`` much more, and names choose some of them. ``--write``
puts what was found into the table of docs/promises.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

import attrs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "promises.md"


@attrs.frozen
class Promise:
    """A promise, the tests that try it, and what they count."""

    says: str
    tests: str
    unit: str
    variable: str = ""
    """The environment variable that says how much is tried, if the tests have one."""
    few: int = 0
    many: int = 0
    by_case: bool = False
    """Whether the page has a table of its own for it, by case."""


PROMISES = {
    "rises": Promise(
        "The objective never rises, by more than 1e-6 relative; numbers that would are refused",
        "tests/solvers/test_extremes.py tests/solvers/test_descent.py -k 'never_rises or any_size'",
        "random problems with numbers of any size, each with one of the solvers",
        "FMFKIT_EXAMPLES",
        10,
        1000,
    ),
    "threads": Promise(
        "The same seed gives the same bits on 1 to 8 threads",
        "tests/solvers/test_descent.py -k threads_do_not_change",
        "random problems, each with one of the solvers",
        "FMFKIT_EXAMPLES",
        20,
        10_000,
    ),
    "reference": Promise(
        "The kernels equal the NumPy reference: 1e-9 in float64, 1e-4 in float32",
        "tests/solvers tests/kernels -k 'reference or equal'",
        "random problems",
        "FMFKIT_EXAMPLES",
        10,
        500,
    ),
    "together": Promise(
        "Fits beside each other, in threads of Python, in processes that were forked or spawned, and by joblib, give "
        "the bits that they give alone",
        "tests/training/test_together.py",
        "fits",
        "FMFKIT_FITS",
        27,
        270,
    ),
    "killed": Promise(
        "`kill -9` breaks no file, loses one interval of a checkpoint at most, and changes no bit of the end",
        "tests/cli/test_kill.py",
        "kills of fits, samplers, searches and savings",
        "FMFKIT_KILLS",
        1,
        40,
    ),
    "resumed": Promise(
        "A fit that goes on from a checkpoint ends in the bits of one that was not stopped",
        "tests/training/test_checkpoint.py tests/cli/test_signals.py",
        "stopped and resumed fits",
        "FMFKIT_EXAMPLES",
        10,
        1000,
    ),
    "damaged": Promise(
        "A damaged model file is refused, or equal",
        "tests/fuzz/test_doors.py -k mutated_file",
        "changed files",
        "FMFKIT_FUZZ",
        1000,
        100_000,
    ),
    "forged": Promise(
        "A forged model file, its digest made to fit, is refused, or answers in finite numbers",
        "tests/fuzz/test_doors.py tests/recommend/test_forged.py -k forged",
        "forged files",
        "FMFKIT_FUZZ",
        1000,
        100_000,
    ),
    "hostile": Promise(
        "Hostile tables, frames, configurations, ids, arrays and questions get a result or a clear error",
        "tests/fuzz/test_doors.py -k 'not mutated_file and not forged_file'",
        "inputs, over all doors",
        "FMFKIT_FUZZ",
        1000,
        170_000,
    ),
    "surroundings": Promise(
        "Full disks, folders that cannot be written, closed pipes, lost terminals, any locale, no home: a clear "
        "error, and nothing is lost",
        "tests/cli/test_surroundings.py tests/test_files.py",
        "cases",
    ),
    "allocations": Promise(
        "Where memory ends, there is a MemoryError, nothing leaks, and the model is as before the round",
        "tests/kernels/test_allocation.py",
        "allocations, each made to fail",
        by_case=True,
    ),
    "memory": Promise(
        "A fit takes the memory that the formula says; one that needs more than there is does not start; 240 fits "
        "leave nothing behind",
        "tests/solvers/test_memory.py tests/training/test_loop.py -k 'promised or memory'",
        "fits",
    ),
    "suite": Promise(
        "The conformance suite fails a broken plugin by the checks that it should fail",
        "tests/testing -k 'broken or breaks'",
        "broken components",
    ),
}


def tried(name: str, promise: Promise, long: bool) -> dict[str, int]:
    """Run the tests of a promise; return how much they tried, by case."""
    amount = {promise.variable: str(promise.many if long else promise.few)} if promise.variable else {}
    search = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        run = (
            f"{sys.executable} -m pytest -q -n auto -p counting -p no:cacheprovider --junitxml={report} {promise.tests}"
        )
        began = time.monotonic()
        environment = os.environ | amount | {"PYTHONPATH": search, "FMFKIT_EXPLORE": "1"}
        done = subprocess.run(run, shell=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{done.stdout}\n{name}: BROKEN: {promise.says}")
        counts = {case.get("name", ""): _count(case) for case in ElementTree.parse(report).iter("testcase")}
    total = sum(counts.values())
    print(f"{name}: {total:,} {promise.unit}, none broke it, {time.monotonic() - began:.0f} s", flush=True)
    return counts


def _count(case: ElementTree.Element) -> int:
    """Return how much a test tried: what it noted, else one."""
    if case.find("skipped") is not None:
        return 0
    return max([1, *(int(noted.get("value", 0)) for noted in case.iter("property"))])


def row(name: str, count: int) -> str:
    """Return the line of a promise in the page's table."""
    promise = PROMISES[name]
    return f"| {promise.says} | {count:,} {promise.unit} | 0 | `{name}` |"


def case_rows(counts: dict[str, int]) -> list[str]:
    """Return the lines of the table by case: the cases' names stand in brackets behind the tests'."""
    cases = {name.partition("[")[2][:-1]: count for name, count in counts.items() if "[" in name}
    return [f"| `{case}` | {count} |" for case, count in cases.items()]


def write(counts: dict[str, dict[str, int]]) -> None:
    """Put the lines of promises into the page."""
    lines = PAGE.read_text().splitlines()
    for name, by_case in counts.items():
        (at,) = (n for n, line in enumerate(lines) if line.endswith(f"| `{name}` |"))
        lines[at] = row(name, sum(by_case.values()))
        if PROMISES[name].by_case:
            begin = lines.index(f"<!-- {name} by case -->") + 3
            lines[begin : lines.index("", begin)] = case_rows(by_case)
    PAGE.write_text("\n".join(lines) + "\n")


def main(*arguments: str) -> None:
    """Try promises."""
    names = [name for name in arguments if not name.startswith("--")] or list(PROMISES)
    if unknown := {*names} - {*PROMISES} | {flag for flag in arguments if flag.startswith("--")} - {
        "--long",
        "--write",
    }:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; the promises are {', '.join(PROMISES)}")
    counts = {name: tried(name, PROMISES[name], "--long" in arguments) for name in names}
    if "--write" in arguments:
        write(counts)


if __name__ == "__main__":
    main(*sys.argv[1:])
