"""The documentation's code runs, and it speaks of every hook and every method that a plugin may write."""

import re
from pathlib import Path

import blocks
import pytest

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
