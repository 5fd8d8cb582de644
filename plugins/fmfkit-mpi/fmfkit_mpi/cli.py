"""The commands of several ranks: ``mpirun -n 8 fmfkit fit ...`` and ``mpirun -n 8 fmfkit recommend ...``."""

from __future__ import annotations

import functools
import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import click
import numpy as np
from fmfkit_mpi.checkpoint import ShardCheckpoint
from fmfkit_mpi.data import gather
from fmfkit_mpi.group import SHARDS, Group
from fmfkit_mpi.recipe import MEASURES, Outcome
from fmfkit_mpi.recipe import Together as Trained
from fmfkit_mpi.refused import NOT_OF_FIT, NOT_OF_RECOMMEND
from fmfkit_mpi.told import report

from fmfkit import FMF, Recommender
from fmfkit.commands import keep, plain_warnings
from fmfkit.errors import WriteError
from fmfkit.files import destination, replacing

AT_ONCE = 65536
"""Queries that are answered at a time."""
readable = click.Path()
"""A file of which the rank that reads it says whether it is there."""
SHARE = click.FloatRange(0, 1, max_open=True)


def friendly(command: Callable[..., None]) -> Callable[..., None]:
    """Turn errors that are the user's to mend into one line and exit code 1, where no group has told of them."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (ValueError, LookupError, TypeError, ArithmeticError, OSError, RuntimeError) as error:
            raise click.ClickException(str(error)) from error

    return wrapped


class Strength(click.ParamType[Any]):
    """A number, or auto."""

    name = "number|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return it."""
        try:
            return value if value == "auto" else float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number, nor 'auto'", param, ctx)


class Together(click.Command):
    """A command that names the options of one process that several have not, with the reason."""

    refused: ClassVar[dict[str, str]] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say why an option is none here."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in self.refused:
                raise
            raise click.UsageError(f"{error.option_name}: {self.refused[error.option_name]}", ctx) from error


class Fit(Together):
    """A command whose option --queries takes all files up to the next option, as a shell writes users/*.parquet."""

    refused = NOT_OF_FIT

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write the option before each of its files."""
        written: list[str] = []
        several = took = False
        for word in args:
            if word.startswith("-"):
                several = word == "--queries"
            elif several and written[-1] != "--queries":
                written.append("--queries")
                took = True
            written.append(word)
        try:
            return super().parse_args(ctx, written)
        except click.MissingParameter as error:
            if not (took and error.param is not None and error.param.name == "pairs"):
                raise
            raise click.UsageError("no PAIRS: give them first, for --queries takes all files after it", ctx) from error


@click.command(cls=Fit)
@click.argument("pairs", type=readable, nargs=-1, required=True)
@click.option("--queries", multiple=True, type=readable, metavar="FILE...", help="Tables of attributes of the queries: "
              "all files up to the next option.")  # fmt: skip
@click.option("--targets", type=readable, help="Table of attributes of the targets, which every rank reads.")
@click.option("--out", default="model.fmf", show_default=True, type=click.Path(dir_okay=False), help="Model file.")
@click.option("--query", help="Column of PAIRS with the queries' ids; found by name or place if left out.")
@click.option("--target", help="Column with the targets' ids.")
@click.option("--rating", help="Column with the ratings.")
@click.option("--weight", help="Column with weights.")
@click.option("--history/--no-history", help="Give queries the targets they are paired with as features (SVD++).")
@click.option("--shards", default=SHARDS, show_default=True, type=click.IntRange(1), help="Shards of the queries: with "
              "the seed, what the result depends on; at least as many as ranks.")  # fmt: skip
@click.option("--positives/--ratings", "positives", default=None, help="Whether PAIRS are positives, such as clicks, "
              "or their values are learnt; their values decide if left out.")  # fmt: skip
@click.option("--rank", type=click.IntRange(1), help="Latent dimensions.")
@click.option("--loss", help="Loss, by name: see `fmfkit plugins`.")
@click.option("--l2", type=Strength(), help="Strength of the factors' penalty; auto learns it from ratings.")
@click.option("--bias-l2", type=float, help="Strength of the biases' penalty where l2 is given.")
@click.option("--cells", type=float, help="How much all pairs of a query and a target count, for positives only.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds, at most.")
@click.option("--patience", type=click.IntRange(1), help="Rounds without a better value before training stops.")
@click.option("--seed", type=click.IntRange(0), help="Of all that is drawn, and of what is held out.")
@click.option("--threads", type=click.IntRange(1), help="Threads of each rank; by default the ranks of a host "
              "share its processors.")  # fmt: skip
@click.option("--validate", type=SHARE, help="Share of the training pairs that chooses the number of rounds; 0.1 if "
              "left out, and 0 where there are positives only.")  # fmt: skip
@click.option(
    "--refit/--no-refit", default=True, show_default=True, help="Whether to train on all training pairs then."
)
@click.option("--test", default=0.0, show_default=True, type=SHARE, help="Share to hold out and to measure on.")
@click.option("--metric", type=click.Choice(list(MEASURES)), help="What is measured.")
@click.option("--checkpoint", type=click.Path(file_okay=False), metavar="FOLDER", help="Folder, seen by all ranks, to "
              "keep the fit in, so that --resume can go on from there, on any number of ranks.")  # fmt: skip
@click.option("--checkpoint-every", default="60s", show_default=True, metavar="ROUNDS|SECONDSs", help="How often.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint in FOLDER, if there is one.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@friendly
def fit(
    pairs: tuple[str, ...],
    queries: tuple[str, ...],
    targets: str | None,
    out: str,
    shards: int,
    history: bool,
    positives: bool | None,
    checkpoint: str | None,
    checkpoint_every: str,
    resume: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a model on PAIRS with all processes that a launcher started, each of which reads some of the files.

    The result has the same bits for any number of them.
    """
    if files := [path for path in pairs if path.endswith(".toml")]:
        raise click.UsageError(f"{files[0]}: TOML files are for one process; give the files of PAIRS, and options")
    if positives is not None:
        options["data"] = "positives" if positives else "ratings"
    recipe = {name: options.pop(name) for name in ("validate", "refit", "test", "metric")}
    columns = {name: options.pop(name) for name in ("query", "target", "rating", "weight")}
    with Group(shards) as group, plain_warnings():
        settings = FMF(**{name: value for name, value in options.items() if value is not None})
        group.agreed(lambda: _check_destination(out))
        if resume and checkpoint is None:
            raise ValueError("--resume: give --checkpoint FOLDER, too: what to go on from")
        kept = None if checkpoint is None else ShardCheckpoint(group, checkpoint, checkpoint_every, resume)
        gathered = gather(group, pairs, queries=queries, targets=targets, columns=columns, history=history)
        shown = [_progress] if group.rank == 0 and not as_json else []
        if kept is None:
            group.keeps("nothing is kept: there is no --checkpoint")
        trained = Trained.of(group, gathered, settings)
        told = report(group, gathered.data, given=positives is not None, positives=trained.settings.data == "positives")
        if told is not None:
            click.echo(str(told), err=True)
        outcome = trained.run(**recipe, checkpoint=kept, more=shown)
        group.keeps("")
        if outcome.recommender is not None:
            keep(outcome.recommender, out)
            _show(outcome, out, group, as_json=as_json)


def _check_destination(out: str) -> None:
    """Refuse what no file can be written to, before any work."""
    folder = destination(out).parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WriteError(f"{out}: cannot be written: {error.strerror}", error.errno) from error


def _make_empty(folder: Path) -> None:
    """Make a folder; refuse one that holds something: files of an earlier run would be taken for those of this one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = next(folder.iterdir(), None)
    except OSError as error:
        raise WriteError(f"{folder}: cannot be written to: {error.strerror}", error.errno) from error
    if held is not None:
        raise WriteError(f"{folder}: it is not empty, it holds {held.name}; delete it, or give another folder")


def _progress(event: Any) -> None:
    found = "".join(f"  {name} {value:.4f}" for name, value in event.measured.items())
    record = event.record
    click.echo(f"round {record.round}: objective {record.objective:.6g}{found}  {record.seconds:.2f} s", err=True)


def _show(outcome: Outcome, out: str, group: Group, *, as_json: bool) -> None:
    """Print what became of it."""
    names = ("rounds", "objective", "stopped", "validation", "test", "metric", "refitted")
    summary = {"model": out, "ranks": group.size, **{name: getattr(outcome, name) for name in names}}
    if as_json:
        click.echo(json.dumps(summary))
        return
    again = ", trained again on all training pairs" if outcome.refitted else ""
    click.echo(f"{out}: {outcome.rounds} rounds on {group.size} ranks{again}")
    for part in ("validation", "test"):
        if (value := getattr(outcome, part)) is not None:
            click.echo(f"{part}: {outcome.metric} {value:.4f}")


class Recommend(Together):
    """The command for all queries."""

    refused = NOT_OF_RECOMMEND


@click.command(cls=Recommend)
@click.argument("model", type=readable)
@click.option("-k", default=10, show_default=True, type=click.IntRange(1), help="How many targets.")
@click.option("--seen", is_flag=True, help="Also what is in the training data.")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder, for a Parquet file of each rank.")
@friendly
def recommend(model: str, k: int, seen: bool, out: str) -> None:
    """Write the best targets for all queries of MODEL, each process those of some."""
    with Group(sys.maxsize) as group:
        group.agreed(lambda: _make_empty(Path(out)))
        trained = Recommender.load(model, threads=group.threads)
        ids = trained.encoder.queries.ids.values
        begin, end = (len(ids) * rank // group.size for rank in (group.rank, group.rank + 1))
        for first in range(begin, end, AT_ONCE):
            some = ids[first : min(first + AT_ONCE, end)].to_list()
            content = io.BytesIO()
            trained.recommend(some, k, seen=seen).write_parquet(content)
            with replacing(Path(out) / f"part-{first:012}.parquet") as file:
                file.write(content.getbuffer())
        counts = group.each(end - begin)
        if group.rank == 0:
            click.echo(f"{out}: the best {k} targets of {int(np.sum(counts))} queries, by {group.size} ranks")


__all__ = ["fit", "recommend"]
