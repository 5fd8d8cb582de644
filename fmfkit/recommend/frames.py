"""Answers as frames of pandas, for those who work with it."""

from __future__ import annotations

import functools
from typing import Any

import attrs
import polars as pl


@attrs.frozen
class InPandas:
    """Something whose methods return frames of polars, with frames of pandas in their place. It needs pandas."""

    inner: Any

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of what it stands for; a method's answer becomes a frame of pandas."""
        found = getattr(self.inner, name)
        if not callable(found):
            return found

        @functools.wraps(found)
        def answered(*args: Any, **kwargs: Any) -> Any:
            answer = found(*args, **kwargs)
            return in_pandas(answer) if isinstance(answer, pl.DataFrame) else answer

        return answered


def in_pandas(frame: pl.DataFrame) -> Any:
    """Return a frame of pandas with the same columns."""
    import pandas as pd

    return pd.DataFrame({name: frame[name].to_list() for name in frame.columns}, columns=frame.columns)


__all__ = ["InPandas", "in_pandas"]
