"""Files that change while they are being verified: the answers are void, and nothing is recorded."""

from __future__ import annotations

import pytest

from autoscirub.errors import StateError
from autoscirub.workflow import check, verify


@pytest.mark.parametrize(
    ("name", "doing"),
    [("results/results.json", verify), ("results/results.json", check), ("out/table.csv", check)],
)
def test_a_file_that_changes_during_the_verification_voids_it(ruled, monkeypatch, tree, name, doing) -> None:
    from autoscirub.store.session import Session

    (ruled / "out").mkdir()
    (ruled / "out" / "table.csv").write_text("x,y\n1,2\n")
    record = Session.record

    def meanwhile(self, *arguments, **named):
        path = ruled / name
        path.write_text(path.read_text().replace("1", "3"))
        return record(self, *arguments, **named)

    before = tree(ruled / ".autoscirub")
    monkeypatch.setattr(Session, "record", meanwhile)
    with pytest.raises(StateError, match=f"{name}: changed while it was being verified"):
        doing(ruled)
    after = tree(ruled / ".autoscirub")
    assert {path: entry[3] for path, entry in after.items()} == {
        path: entry[3] for path, entry in before.items()
    }
    monkeypatch.undo()
    assert doing(ruled) is not None
