"""A report on a model: one page of HTML that needs nothing else, to be looked at and shown around."""

from __future__ import annotations

import base64
import datetime
import hashlib
import html
import os
from collections.abc import Sequence
from importlib import resources

import attrs

from fmfkit.data.dataset import Dataset
from fmfkit.data.report import Report
from fmfkit.files import replacing
from fmfkit.recommend.evaluation import warn_of_known_pairs
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import Settings
from fmfkit.report import tested, trained
from fmfkit.report.html import Content, Html, number, tag
from fmfkit.report.subject import MODEL, Subject
from fmfkit.report.trained import Section

STYLE = resources.files("fmfkit.report").joinpath("style.css").read_text(encoding="utf-8")


@attrs.frozen(repr=False)
class Page:
    """A page of HTML; a notebook shows it."""

    html: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        with replacing(path) as file:
            file.write(self.html.encode())

    def _repr_html_(self) -> str:
        """Return it for notebooks, in a frame of its own."""
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="700" title="Report" sandbox></iframe>'

    def __repr__(self) -> str:
        """Return what it is."""
        return f"<Page of {len(self.html):,} characters; save(path) writes it>"


def report(
    recommender: Recommender,
    test: Dataset | None = None,
    *,
    data: Report | None = None,
    command: str | None = None,
    asked: Settings | None = None,
) -> Page:
    """Return a report on a model.

    Args:
        recommender: the model.
        test: pairs that were held out; without them, the report cannot say how good the model is.
        data: what ``Dataset.report`` found in the training data; without it, what was left out is not told.
        command: the command line that made the model, if one did.
        asked: the settings that were asked for, before any were chosen.
    """
    subject = Subject.of(recommender, test, data, command, asked)
    if subject.on is not None:
        warn_of_known_pairs(subject.on)
    sections = [section for section in _sections(subject) if section is not None]
    return Page(_document("Report on a model", [_head(subject), _contents(sections), tag("main", _main(sections))]))


def _sections(subject: Subject) -> list[Section | None]:
    found: list[Section | None] = [trained.data(subject), trained.training(subject)]
    if subject.on is not None:
        ranks = subject.wanted[0].ranks
        errors = tested.recall(subject) if ranks else tested.residuals(subject, subject.on)
        found = [tested.results(subject), tested.by_strata(subject), errors, *found]
    recommended = [tested.blocks(subject), tested.recommended(subject), tested.examples(subject)]
    return [*found, *recommended, trained.reproduce(subject)]


def _main(sections: Sequence[Section]) -> list[Html]:
    return [
        tag(
            "section",
            tag("h2", section.title, id=f"{section.id}-title"),
            section.body,
            id=section.id,
            aria_labelledby=f"{section.id}-title",
        )
        for section in sections
    ]


def _contents(sections: Sequence[Section]) -> Html:
    links = [tag("li", tag("a", section.id.capitalize(), href=f"#{section.id}")) for section in sections]
    return tag("nav", tag("ul", links), aria_label="Contents")


def _head(subject: Subject) -> Html:
    model = subject.trained.model
    made = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    tiles = [
        ("training pairs", f"{subject.trained.seen.nnz:,}"),
        ("queries", f"{model.X.rows:,}"),
        ("targets", f"{model.Z.rows:,}"),
        ("rank", f"{model.rank}"),
    ]
    if subject.on is not None:
        metric = subject.wanted[0]
        tiles = [(metric.name, number(subject.estimates(metric)[MODEL].value)), *tiles]
    shown = [tag("li", tag("strong", value), tag("span", name)) for name, value in tiles]
    title = tag("h1", "Report on a model")
    return tag("header", title, tag("p", f"fmfkit, {made}"), tag("ul", shown, class_="tiles"), _verdict(subject))


def _verdict(subject: Subject) -> Html:
    """Return in a few sentences how good the model is."""
    if subject.on is None:
        text = (
            "No pairs were held out, so nothing can be said about how good the model is. Hold some out: --test 0.1, or "
            "data.split_random() and recommender.report(test)."
        )
        return tag("p", text, class_="verdict")
    metric = subject.wanted[0]
    found = subject.estimates(metric)
    one = found[MODEL]
    between = "" if one.interval is None else f" (95% interval {number(one.low)} to {number(one.high)})"
    text = f"On {len(subject.on.data):,} held-out pairs, {metric.name} is {number(one.value)}{between}."
    gain, name = subject.gain(), subject.best_baseline
    if gain is not None and name is not None:
        text += f" {_beside(gain.value, gain.low, gain.high)} {name} ({number(found[name].value)})."
    return tag("p", text, class_="verdict")


def _beside(gain: float, low: float, high: float) -> str:
    if low > 0:
        return f"That is better, by {number(gain, 3)} ({number(low, 3)} to {number(high, 3)}), than"
    if high < 0:
        return f"That is worse, by {number(-gain, 3)} ({number(-high, 3)} to {number(-low, 3)}), than"
    return "That may by chance be no better than"


def _document(title: str, body: Content) -> str:
    """Return a page that holds its style, runs nothing and asks nobody for anything."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(STYLE)),
    )
    return "<!doctype html>\n" + tag("html", head, tag("body", body), lang="en")


__all__ = ["Page", "report"]
