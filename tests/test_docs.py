"""The documentation's code runs, and it speaks of every hook and every method that a plugin may write."""

import asyncio
import importlib
import inspect
import re
from pathlib import Path

import blocks
import check_links
import pytest

import fmfkit
from fmfkit import get_include, interfaces
from fmfkit.native import NativeLoss, NativeRegularizer
from fmfkit.plugins import hookspecs
from fmfkit.plugins.registry import KINDS
from fmfkit.testing.running import CHECKS
from fmfkit.testing.verdict import law

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "api").glob("*.md"))]
BLOCKS = [(page, *block) for page in PAGES for block in blocks.blocks_of(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "line", "block"), BLOCKS, ids=[f"{page.stem}-{line}" for page, line, _ in BLOCKS])
def test_a_code_block_runs_alone(page, line, block):
    assert "  failed " not in (printed := blocks.run(block, page, line)), printed  # of the conformance suite


def status_of(app, path):
    """Ask a service as a server does, and return the status of its answer."""
    told = []
    where, _, query = path.partition("?")
    scope = {"type": "http", "method": "GET", "path": where, "query_string": query.encode(), "headers": []}

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        told.append(message)

    asyncio.run(app(scope, receive, send))
    return told[0]["status"]


def test_the_service_refuses_bad_requests_and_is_no_server_error():
    pytest.importorskip("fastapi")
    block = next(block for page, _, block in BLOCKS if page.stem == "serving" and "FastAPI()" in block)
    names = {}
    exec(block, names)  # our own page
    asked = {"17/books?k=2": 200, "17/books?k=0": 422, f"{10**30}/books": 422, "x/books": 422}
    assert {path: status_of(names["app"], f"/users/{path}") for path in asked} == asked


def test_every_python_block_is_found():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.count("```python") == len(list(blocks.blocks_of(text))), page.name


def test_every_hook_is_documented():
    text = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    hooks = [name for name in hookspecs.__all__ if name.startswith("fmfkit_")]
    assert sorted(hooks) == sorted(hook for hook, _ in KINDS.values())
    for hook in hooks:
        assert f"`{hook}()`" in text


@pytest.mark.parametrize(
    "interface", [interfaces.Loss, interfaces.Regularizer, interfaces.PartitionScheduler, interfaces.Solver]
)
def test_every_method_of_an_interface_is_documented_and_states_its_law(interface):
    text = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    for name, member in vars(interface).items():
        if not name.startswith("_") and callable(member):
            assert f"`{name}(" in text, f"{interface.__name__}.{name}"
            assert member.__doc__


def test_every_check_is_documented_with_its_law():
    text = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    for checks in CHECKS.values():
        for check in checks:
            assert f'<a id="{check.__name__}"></a>`{check.__name__}` | {law(check).replace("|", "&#124;")} |' in text


def test_every_field_of_the_c_interface_is_documented():
    text = (ROOT / "docs" / "c-abi.md").read_text(encoding="utf-8")
    for kind in (NativeLoss, NativeRegularizer):
        for name, _ in kind.table_type._fields_:
            assert f"`{name}`" in text, name


def test_every_field_of_a_side_in_c_is_documented():
    text = (ROOT / "docs" / "write-a-solver.md").read_text(encoding="utf-8")
    header = Path(get_include(), "fmfkit.h").read_text(encoding="utf-8")
    struct = re.search(r"struct fmfkit_side {(.*?)^};", header, re.DOTALL | re.MULTILINE).group(1)
    fields = re.findall(r"^ {4}\w.*?(\w+);", struct, re.MULTILINE)
    functions = re.findall(r"^ {4}void \(\*(\w+)\)", struct, re.MULTILINE)
    assert {"real_bytes", "pair_ptr", "G"} <= set(fields)
    for name in fields:
        assert f"`{name}`" in text, name
    for name in functions:
        assert f"`{name}(side" in text, name


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_in_the_table_of_contents():
    entries = re.findall(r"^[\w*/\[\]!-]+$", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = {found for entry in entries for found in DOCS.glob(f"{entry}.md")}
    pages = {page for page in PAGES if page.is_relative_to(DOCS)} - {DOCS / "index.md"}
    assert pages == listed


SHAPES = re.compile(r"ml10m|weibo|flickr|yahoo|movielens-10m", re.IGNORECASE)
"""Names of generated data sets that are called after real ones."""


def test_rows_of_numbers_say_that_their_data_is_generated():
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        rows = [line for line in lines if line.startswith("|") and SHAPES.search(line) and re.search("[0-9]", line)]
        assert [line for line in rows if "generated" not in line] == [], page.name


def of_reference(directive):
    """Return what the pages of the reference say with a directive of Sphinx, such as ``autoclass``."""
    pages = (page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))
    return {found for text in pages for found in re.findall(rf"^\.\. {directive}:: ([\w.]+)$", text, re.MULTILINE)}


def test_every_public_name_is_in_the_reference():
    whole = of_reference("automodule")
    single = of_reference("autoclass") | of_reference("autofunction") | of_reference("autodata")
    for name in fmfkit.__all__:
        thing = getattr(fmfkit, name)
        if not inspect.ismodule(thing):
            assert name in single, name
        elif f"fmfkit.{name}" not in whole:
            assert set(thing.__all__) <= single, name


def test_every_parameter_of_a_public_function_is_described():
    for name in [*sorted(of_reference("automodule")), "fmfkit"]:
        path = fmfkit._MODULES.get(name.removeprefix("fmfkit."), name)
        module = importlib.import_module(path)
        for function in (getattr(module, given) for given in module.__all__):
            if inspect.isfunction(function) and function is not fmfkit.get_include:
                for parameter in inspect.signature(function).parameters:
                    told = f"    {parameter}: " in function.__doc__ or f"``{parameter}``" in function.__doc__
                    assert told, f"{name}.{function.__name__}: {parameter}"


PAGE = '<p id="here"><a href="other.html#there"></a><a href="#here"></a><img src="data:image/png;base64,"></p>'


@pytest.mark.parametrize(
    ("addition", "found"),
    [
        ("", None),
        ('<a href="https://elsewhere.org">elsewhere</a>', None),
        ('<a href="missing.html">', "missing.html: there is no such file"),
        ('<a href="other.html#nowhere">', "other.html#nowhere: there is no such anchor"),
        ('<a href="mailto:ndcg@10">', "mailto:ndcg@10: taken for an address"),
        ('<script src="https://elsewhere.org/x.js"></script>', "loads https://elsewhere.org/x.js"),
        ('<link rel="stylesheet" href="//elsewhere.org/x.css">', "loads //elsewhere.org/x.css"),
    ],
)
def test_a_site_with_dead_links_or_things_from_elsewhere_is_found_out(tmp_path, addition, found):
    (tmp_path / "index.html").write_text(PAGE + addition)
    (tmp_path / "other.html").write_text('<p id="there">')
    problems = check_links.problems(tmp_path)
    assert problems == ([] if found is None else [f"index.html: {found}"])


def test_a_style_sheet_that_loads_from_elsewhere_is_found_out(tmp_path):
    (tmp_path / "site.css").write_text("@import url('https://elsewhere.org/font.css');")
    assert check_links.problems(tmp_path) == ["site.css: loads https://elsewhere.org/font.css"]
