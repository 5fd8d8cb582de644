"""``python -m fmfkit.testing --explain CHECK``: the law of a check, and how it is tried."""

from __future__ import annotations

import click

from fmfkit.testing.running import explained


@click.command()
@click.option("--explain", required=True, metavar="CHECK", help="Show the law of a check, and how it is tried.")
def main(explain: str) -> None:
    """Explain the checks of the conformance suite; ``pytest --pyargs fmfkit.testing --fmfkit-plugin NAME`` runs it."""
    try:
        click.echo(explained(explain))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


if __name__ == "__main__":
    main(prog_name="python -m fmfkit.testing")
