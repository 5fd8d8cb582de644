"""Options of the commands for one process that those for several have not, and why."""

from __future__ import annotations

ONE = "not on several ranks yet; leave it out, or run one process"
NOT_OF_FIT = {
    "--loader": "PAIRS are tables on several ranks: CSV, TSV, Parquet, Arrow",
    "--label": "on several ranks answers show the column called title or name; call it so",
    "--time": "on several ranks pairs are held out at random, and not by their times; leave it out",
    "--split": "on several ranks pairs are held out at random, by their ids and the seed; leave it out",
    "--duplicates": "on several ranks equal pairs are counted where ratings say nothing, and refused elsewhere; merge "
    "them before",
    "--bad-rows": "on several ranks rows that cannot be read are refused; mend the files",
    "--choose-by": "on several ranks --metric chooses the round, and is measured",
    "--tune": "settings are not searched on several ranks; search on a part of the data in one process, and give here "
    "what it prints",
    "--solver": "on several ranks there is one solver, the default one on queries in shards; leave it out",
    **dict.fromkeys(("--start", "--callback", "--report", "--balance", "--shrink", "--spread", "--scale"), ONE),
    **dict.fromkeys(("--growth", "--strength", "--regularizer", "--negatives", "--negatives-by"), ONE),
    **dict.fromkeys(("--negatives-fresh", "--no-negatives-fresh"), ONE),
}
NOT_OF_RECOMMEND = {
    "--all": "on several ranks all queries are answered; leave it out",
    "--json": "on several ranks answers are Parquet files; leave it out",
    **dict.fromkeys(("--query", "--new", "--pairs", "--new-targets", "--target"), ONE),
    **dict.fromkeys(("--exclude", "--where", "--clip", "--unknown"), ONE),
}

__all__ = ["NOT_OF_FIT", "NOT_OF_RECOMMEND"]
