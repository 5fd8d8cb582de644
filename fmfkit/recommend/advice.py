"""What to try next where a model is no better than what anybody could predict, or was still getting better."""

from __future__ import annotations

from fmfkit.recommend.baselines import Comparison
from fmfkit.recommend.recommender import Recommender
from fmfkit.recommend.settings import Settings

CLEAR = {False: 0.01, True: 0.05}
"""By which share a model should be better than the best baseline, by whether larger values of the metric are better."""
LAST_ROUNDS, STILL_BETTER = 3, 0.003
"""More rounds are advised if the last few made it better by this share."""


def advise(asked: Settings, made: Recommender, compared: Comparison | None) -> str | None:
    """Return a line of advice on a model that was trained with settings, and stopped by its validation part."""
    if compared is not None and compared.gain is not None and compared.gain < CLEAR[compared.larger]:
        names = " and ".join(compared.baselines)
        return f"not clearly better than {names}: {_other_ways(asked, made)}"
    values = made.validation
    if len(values) <= max(asked.rounds, LAST_ROUNDS):
        return None
    best = (max if compared is not None and compared.larger else min)(values)
    gain = abs(values[-1] - values[-1 - LAST_ROUNDS])
    if values[-1] != best or gain <= STILL_BETTER * abs(values[-1]):
        return None
    return f"it was still getting better in the last round: try more, such as --rounds {2 * asked.rounds}"


def _other_ways(asked: Settings, made: Recommender) -> str:
    if asked.l2 != "auto" and not made.positives:
        return "leave out l2, so that strengths are learnt"
    if not made.encoder.described():
        return "tables that describe queries or targets may help (--queries, --targets)"
    return "there may be little to learn beyond it; --tune 20 tries other settings"


__all__ = ["advise"]
