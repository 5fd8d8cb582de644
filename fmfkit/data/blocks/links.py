"""Feature blocks of links to other instances."""

from __future__ import annotations

from typing import ClassVar

import attrs
import polars as pl
from attrs import validators

from fmfkit.data.blocks.base import Instances, Normalise
from fmfkit.data.blocks.tokens import TokenBlock
from fmfkit.data.ids import as_text
from fmfkit.data.tables import Source, read_table
from fmfkit.errors import DataError


@attrs.frozen
class Neighbours(TokenBlock):
    """Links to other instances, each a feature: friends, citations; 1/√n for each of n."""

    kind: ClassVar[str] = "neighbours"
    links: Source = attrs.field(repr=False, eq=False, metadata={"source": True})
    """A table: its first column has the ids of instances, its second what each is linked to."""
    name: str = attrs.field(default="neighbours", validator=validators.instance_of(str), kw_only=True)
    normalise: Normalise = attrs.field(default="root", validator=validators.in_(("none", "rows", "root")), kw_only=True)

    @property
    def title(self) -> str:
        """The block's name."""
        return self.name

    def tokens(self, given: Instances) -> pl.DataFrame:
        """Return what each instance is linked to."""
        source = given.extra.get(self.title, self.links)
        if source is None:
            raise DataError(f"block {self.title!r}: the links of these instances are not known; give extra=")
        links = read_table(source, f"links of block {self.title!r}")
        if links.width < 2:
            raise DataError(
                f"block {self.title!r}: links need two columns, instance and neighbour; got {links.columns}"
            )
        known = links.select(pl.nth(0), pl.nth(1)).drop_nulls()
        ends = pl.DataFrame({"name": as_text(known.to_series(0)), "token": as_text(known.to_series(1))})
        rows = pl.DataFrame({"name": given.names, "row": pl.int_range(len(given), dtype=pl.Int64, eager=True)})
        return ends.join(rows, on="name", how="inner").select("row", "token")


__all__ = ["Neighbours"]
