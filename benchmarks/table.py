"""One row of a benchmark, and the table of all of them."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """A ratio to a peer or bound measured in the same run.

    `goal` None: shown for the trend. `at_least`: the ratio must be this or more, else this or less.
    """

    name: str
    ratio: float
    goal: float | None
    detail: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal


def show(title: str, rows: list[Row]) -> None:
    """Print rows as a table."""
    table = Table(title=title, title_justify="left")
    for heading in ("what", "ratio", "goal", "", "detail"):
        table.add_column(heading, justify="right" if heading in {"ratio", "goal"} else "left")
    for row in rows:
        sign = {True: "met", False: "MISSED", None: ""}[row.met]
        goal = "" if row.goal is None else f"{'≥' if row.at_least else '≤'} {row.goal:g}"
        table.add_row(row.name, f"{row.ratio:.2f}", goal, sign, row.detail)
    Console(width=140).print(table)
