"""Removing a folder in which somebody else's program may have done anything."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def remove_tree(folder: Path) -> None:
    """Remove a folder and all below it, even where its folders were made unreadable. Follows no link."""

    def again(function: Callable[..., Any], path: str, _error: object) -> None:
        with contextlib.suppress(OSError):
            parent = Path(path).parent
            if parent != folder.parent:
                parent.chmod(0o700)
            if Path(path).is_dir() and not Path(path).is_symlink():
                Path(path).chmod(0o700)
                shutil.rmtree(path, ignore_errors=True)
            else:
                function(path)

    shutil.rmtree(folder, onerror=again)
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
