"""Results for people: in the terminal, as Markdown, and as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from pathlib import Path

from fmfkit_bench.results.sections import Claim, Figure, Results, Section, Table, numeric, texts


def terminal(section: Section) -> str:
    """Return the tables and claims of a section as text."""
    lines = [f"\n== {section.title} =="]
    for table in section.tables:
        lines += ["", table.title, *_aligned(table)]
    return "\n".join(lines + [""] * bool(section.claims) + [_verdict(claim) for claim in section.claims])


def _aligned(table: Table) -> list[str]:
    rows = [table.columns, *texts(table)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(table.columns))]
    right = numeric(table)
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def _verdict(claim: Claim) -> str:
    return f"{'pass' if claim.holds else 'FAIL'}  {claim.what} ({claim.on}): {claim.found}"


def markdown(all_results: Sequence[Results]) -> str:
    """Return results as a Markdown page, without figures."""
    lines = ["# Results", "", "Made by `fmfkit bench results`; the command under each heading gives its results.", ""]
    for results in all_results:
        about = ", ".join(f"{key} {value}" for key, value in results.about.items() if key != "command")
        lines += [f"## {results.title}", "", f"    {results.about['command']}", "", f"{about}.", ""]
        if results.claims:
            lines += _markdown_table(_claims_table(results.claims))
        for section in results.sections:
            lines += [f"### {section.title}", "", section.about, ""]
            for table in section.tables:
                lines += [f"**{table.title}**", "", *_markdown_table(table)]
    return "\n".join(lines)


def _markdown_table(table: Table) -> list[str]:
    rule = ["---:" if right else "---" for right in numeric(table)]
    rows = [table.columns, rule, *texts(table)]
    return [*("| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows), ""]


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _claims_table(claims: list[Claim]) -> Table:
    rows = [[claim.what, claim.on, "pass" if claim.holds else "FAIL", claim.found] for claim in claims]
    return Table("Claims", ["claim", "data", "verdict", "found"], [list(row) for row in rows])


STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; color: #1b1f24; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; } h2 { margin-top: 2.6rem; border-bottom: 1px solid #d5dae0; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #8892a0; } td { border-bottom: 1px solid #e4e8ec; }
td.number, th.number { text-align: right; }
.wide { overflow-x: auto; } figure { margin: 1.4rem 0; } figure img { max-width: 100%; }
figcaption, .about { color: #57606a; font-size: .92rem; }
.pass { color: #00614a; font-weight: 600; } .fail { color: #a33a00; font-weight: 600; }
code { background: #f2f4f7; padding: .1rem .35rem; border-radius: 3px; } nav a { margin-right: 1rem; }
"""


def page(results: Results, images: Path | None) -> str:
    """Return results as an HTML page; ``images`` is the folder with the figures' SVG files, if there are any."""
    passed = sum(claim.holds for claim in results.claims)
    parts = [
        f"<h1>{html.escape(results.title)}</h1>",
        f"<p class=about>{_about(results)}</p>",
        "<nav>" + "".join(f'<a href="#{s.name}">{html.escape(s.title)}</a>' for s in results.sections) + "</nav>",
    ]
    if results.claims:
        parts += [
            f"<h2>Claims: {passed} of {len(results.claims)} hold</h2>",
            _html_table(_claims_table(results.claims), verdict=2),
        ]
    parts += [_html_section(section, images) for section in results.sections]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1">\n<title>{html.escape(results.title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _about(results: Results) -> str:
    about = [
        f"{html.escape(key)} {html.escape(str(value))}"
        for key, value in results.about.items()
        if key != "command" and value is not None
    ]
    return f"<code>{html.escape(str(results.about['command']))}</code><br>" + " · ".join(about)


def _html_section(section: Section, images: Path | None) -> str:
    parts = [f'<h2 id="{section.name}">{html.escape(section.title)}</h2>', f"<p>{html.escape(section.about)}</p>"]
    if images is not None:
        parts += [_html_figure(figure, images) for figure in section.figures]
    for table in section.tables:
        parts += [f"<h3>{html.escape(table.title)}</h3>", _html_table(table)]
    return "\n".join(parts)


def _html_figure(figure: Figure, images: Path) -> str:
    data = base64.b64encode((images / f"{figure.name}.svg").read_bytes()).decode("ascii")
    caption = html.escape(figure.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _html_table(table: Table, verdict: int | None = None) -> str:
    right = numeric(table)

    def row(cells: list[str], tag: str) -> str:
        shown = []
        for k, cell in enumerate(cells):
            kind = "number" if right[k] else cell.lower() if k == verdict and tag == "td" else ""
            shown.append(f"<{tag}{f' class={kind}' if kind else ''}>{html.escape(cell)}</{tag}>")
        return f"<tr>{''.join(shown)}</tr>"

    rows = "\n".join(row(cells, "td") for cells in texts(table))
    return f"<div class=wide><table>{row(table.columns, 'th')}\n{rows}</table></div>"


__all__ = ["markdown", "page", "terminal"]
