"""What judging may cost, and has cost: looked at before each ask."""

from __future__ import annotations

import math

from autoscirub.errors import JudgeError


class NotAsked(JudgeError):  # noqa: N818 - that nobody was asked is the error
    """Raised where asking would go over a limit, so that nobody was asked. Not told apart outside of this room."""


class SpendLimit:
    """The money of a round and of a day. None: no limit.

    Before an ask, what was paid, what the asks under way should cost and what this one should cost must fit.
    A price that is unknown fits as long as the limit is not reached, because refusing it would refuse every backend
    that tells no prices; so a limit may be overrun by the answers that are waited for at that moment, each by its
    own `judge.money` where the backend says what it cost. What an answer cost is unknown where nobody says: then the
    estimate counts, and without one nothing does, but `unknown` says how many. What is free is always asked.
    """

    def __init__(
        self,
        limit_round: float | None = None,
        limit_day: float | None = None,
        *,
        spent_round: float = 0.0,
        spent_day: float = 0.0,
    ) -> None:
        """`spent_round`, `spent_day`: what was paid in this round and today before; what is spent from here on counts
        for both."""
        self.limit_round, self.limit_day = limit_round, limit_day
        self.spent_round, self.spent_day = spent_round, spent_day
        self.spent = 0.0
        """US dollars paid from this purse, estimates included."""
        self.estimated = 0
        """Answers whose cost nobody told, counted as estimated."""
        self.unknown = 0
        """Answers whose cost nobody told or estimated; they are not in `spent`."""
        self._held = 0.0

    def hold(self, price: float | None) -> None:
        """Keep an ask's price back. Raises JudgeError, naming the limit, where it does not fit."""
        if price == 0:
            return
        for key, limit, before in (
            ("judge.money_round", self.limit_round, self.spent_round),
            ("judge.money_day", self.limit_day, self.spent_day),
        ):
            if limit is None:
                continue
            taken = before + self.spent + self._held
            if taken >= limit or taken + (price or 0.0) > limit:
                costs = "at a price that is unknown" if price is None else f"for about ${price:.4g}"
                raise NotAsked(
                    f"not asked: money limit reached: ${taken:.4g} of ${limit:.4g} ({key}) are spent or promised, "
                    f"and this answer comes {costs}; wait, or raise {key}"
                )
        self._held += price or 0.0

    def settle(self, price: float | None, cost: float | None) -> None:
        """The ask that was held at `price` has ended, and cost what it cost; None: nobody says."""
        self._held = max(0.0, self._held - (price or 0.0))
        if cost is not None:
            self.spent += cost
        elif price is not None:
            self.spent += price
            self.estimated += 1 if price else 0
        else:
            self.unknown += 1

    def release(self, price: float | None) -> None:
        """What was held at `price` was never asked."""
        self._held = max(0.0, self._held - (price or 0.0))

    @property
    def said(self) -> str:
        """What was spent, in a line."""
        parts = [f"${self.spent:.4g} spent"]
        if self.estimated:
            parts.append(f"{self.estimated} of it by estimate")
        if self.unknown:
            parts.append(f"the cost of {self.unknown} more unknown")
        return ", ".join(parts)


def usable(amount: float | None) -> float | None:
    """An amount that can be counted: negative, infinite and no number at all are unknown."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        return None
    return float(amount) if math.isfinite(amount) and amount >= 0 else None
