"""Whatever the tree: no withheld byte is shown, and the digest is that of what is shown."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attacks.blinding import HOLDOUT, INSTRUCTIONS, VERDICT, WRITE_UP, Look, write

CONTENTS = st.sampled_from(
    [WRITE_UP, VERDICT, INSTRUCTIONS, HOLDOUT, "", "short\n", "x" * 64, "y" * 65, "z" * 2_000]
)
PARTS = st.sampled_from(
    ["a", "b", "REPORT.md", "agents.md", ".git", "verification.json", "data.csv", "hidden"]
)
PATHS = st.builds(
    lambda top, parts: "/".join([*top, *parts]),
    st.sampled_from([[], ["results"], ["src"], ["notes"]]),
    st.lists(PARTS, min_size=1, max_size=3),
)
TREES = st.dictionaries(
    PATHS, st.tuples(st.sampled_from(["file", "link", "hard"]), CONTENTS, PATHS), max_size=12
)


def plant(root: Path, tree: dict[str, tuple[str, str, str]]) -> None:
    write(root / "REPORT.md", WRITE_UP)
    write(root / ".autoscirub" / "verification.json", VERDICT)
    write(root / "AGENTS.md", INSTRUCTIONS)
    write(root / "hidden" / "holdout.csv", HOLDOUT)
    for profile in ("hypothesis", "criterion"):
        with (root / "autoscirub.toml").open("a") as file:
            file.write(f"[profiles.{profile}]\nexclude = ['hidden/']\n")
    for path, (kind, text, target) in sorted(tree.items()):
        try:
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if kind == "link":
                place.symlink_to(os.path.relpath(root / target, place.parent))
            elif kind == "hard":
                os.link(root / target, place)
            elif not os.path.lexists(place):
                place.write_text(text)
        except OSError:
            continue  # a file where a folder would have to be, or nothing to link to


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tree=TREES,
    profile=st.sampled_from(["hypothesis", "criterion"]),
    changed=st.integers(0, 11),
    text=CONTENTS,
)
def test_no_tree_shows_withheld_bytes_and_the_digest_is_that_of_what_is_shown(
    tree, profile, changed, text
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "study")
        plant(root, tree)
        withheld = {VERDICT.encode(), INSTRUCTIONS.encode(), HOLDOUT.encode()}
        if profile == "hypothesis":
            withheld.add(WRITE_UP.encode())
        first = Look(root, profile)
        assert not withheld & set(first.files.values())
        assert first.digest == Look(root, profile).digest
        files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
        files = [path for path in files if path.name != "autoscirub.toml"]
        files[changed % len(files)].write_text(text)
        second = Look(root, profile)
        assert (second.digest == first.digest) is (second.files == first.files)
