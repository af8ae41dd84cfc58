"""Renders which files a judge would see, and which were withheld and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoscirub.report.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoscirub.models import WorkspaceManifest

_LISTED = 60


def render_blinded(root: str, manifest: WorkspaceManifest, led_out: Mapping[str, str]) -> str:
    """The copy's folder and size, its digest, the links that lead out, and what was withheld and why."""
    size = sum(file.size for file in manifest.files)
    lines = [
        f"{plain(root)}: {len(manifest.files):,} files, {size:,} bytes, as the profile {plain(manifest.profile)} shows",
        f"digest {manifest.digest}",
    ]
    lines += [f"followed  {plain(path)}  to {plain(real)}" for path, real in sorted(led_out.items())]
    lines += [
        f"withheld  {plain(withheld.path)}  {plain(withheld.why)}" for withheld in manifest.withheld[:_LISTED]
    ]
    if len(manifest.withheld) > _LISTED:
        lines.append(f"and {len(manifest.withheld) - _LISTED:,} more withheld; --json has all")
    return "\n".join(lines)
