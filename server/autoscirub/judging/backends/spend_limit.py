"""Limits what judging may cost per round and per day, checked before each question."""

from __future__ import annotations

import math

from autoscirub.errors import JudgeError


class NotAsked(JudgeError):  # noqa: N818 - that nobody was asked is the error
    """Raised where asking would exceed a limit, so nobody was asked. Outside of this room it is any JudgeError."""


class SpendLimit:
    """How much a round and a day may cost. None: no limit.

    Before an ask, what was paid, what the asks under way should cost and what this one should cost must fit.
    A price that is unknown fits as long as the limit is not reached, because refusing it would refuse every backend
    that reports no prices; so the answers under way at that moment may exceed a limit, each by its own `judge.money`
    where the backend reports its cost. Where a cost is not reported the estimate counts, and without one nothing
    does, but `unknown` says how many there were. What is free is always asked.
    """

    def __init__(
        self,
        limit_round: float | None = None,
        limit_day: float | None = None,
        *,
        spent_round: float = 0.0,
        spent_day: float = 0.0,
        round_key: str = "judge.money_round",
    ) -> None:
        """`spent_round`, `spent_day`: what was paid in this round and today before; what is spent from here on counts
        for both. `round_key` is what people call the first limit."""
        self.limit_round, self.limit_day, self.round_key = limit_round, limit_day, round_key
        self.spent_round, self.spent_day = spent_round, spent_day
        self.spent = 0.0
        """US dollars paid since this object was made, estimates included."""
        self.estimated = 0
        """Answers whose cost was not reported, counted as estimated."""
        self.unknown = 0
        """Answers whose cost was neither reported nor estimated; they are not in `spent`."""
        self._held = 0.0

    def hold(self, price: float | None) -> None:
        """Reserve the price of a question. Raises JudgeError, naming the limit, where it does not fit."""
        if price == 0:
            return
        for key, limit, before in (
            (self.round_key, self.limit_round, self.spent_round),
            ("judge.money_day", self.limit_day, self.spent_day),
        ):
            if limit is None:
                continue
            taken = before + self.spent + self._held
            if taken >= limit or taken + (price or 0.0) > limit:
                costs = "an unknown amount" if price is None else f"about ${price:.4g}"
                raise NotAsked(
                    f"not asked: money limit reached: ${taken:.4g} of ${limit:.4g} ({key}) are spent or promised, "
                    f"and this answer would cost {costs}; wait, or raise {key}"
                )
        self._held += price or 0.0

    def settle(self, price: float | None, cost: float | None) -> None:
        """A question reserved at `price` has been answered at `cost`; None: the cost is unknown."""
        self._held = max(0.0, self._held - (price or 0.0))
        if cost is not None:
            self.spent += cost
        elif price is not None:
            self.spent += price
            self.estimated += 1 if price else 0
        else:
            self.unknown += 1

    def release(self, price: float | None) -> None:
        """A question reserved at `price` was never asked."""
        self._held = max(0.0, self._held - (price or 0.0))

    @property
    def summary(self) -> str:
        """What was spent, in one line."""
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
