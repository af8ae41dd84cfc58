"""Walks a project and sorts its files into visible and withheld ones, as a profile says.

Folders are opened one within the other without following a link, so that a link swapped in meanwhile leads nowhere. A
link is followed to its real target, which must be allowed under its own path as well.
"""

# Strings all through: a hundred thousand Path objects would cost more than the copy.

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autoscirub.errors import BlindingError
from autoscirub.judging.profiles import NO_RULE, STATE_DIRECTORY, Rule, prefixes
from autoscirub.judging.workspace.limits import Seen, WorkspaceLimits, stamp_of, too_much
from autoscirub.judging.workspace.links import Led, lead, mark_at, marked, open_folder
from autoscirub.judging.workspace.names import display_name
from autoscirub.judging.workspace.withheld_copies import collect
from autoscirub.store import describe_kind

if TYPE_CHECKING:
    from autoscirub.judging.profiles import Profile

_NOT_ALLOWED = Rule("not in the profile")
_NOT_NAMED = Rule("not named by the criterion")
_LONGEST_NAME = 255


@dataclass(frozen=True)
class _Place:
    """Where the walk is: the path that it took, the real path there, and which rules already allow all below it."""

    path: str
    real: str
    own: str | None
    """Its own path from the project's root; None outside of the project."""
    allowed: bool = False
    named: bool = False
    own_allowed: bool = False
    above: tuple[tuple[int, int], ...] = ()
    depth: int = 0


@dataclass
class ProfileWalk:
    """One walk and all that it found. `visible` is in the order of the walk."""

    profile: Profile
    root: str
    state_dir: str
    limits: WorkspaceLimits
    forbidden: tuple[str, ...] = ()
    """Real folders that no link may lead into, or to a parent of, besides the project itself."""
    visible: list[Seen] = field(default_factory=list)
    withheld: dict[str, str] = field(default_factory=dict)
    compared: list[Seen] = field(default_factory=list)
    """Withheld files, whose copies are withheld too."""
    led_out: dict[str, str] = field(default_factory=dict)
    """Links that were followed out of the project, and where to."""
    scanned: int = 0

    def go(self) -> None:
        """Walk the project. Raises BlindingError beyond a limit, and where it cannot be listed at all."""
        try:
            descriptor = open_folder(self.root)
        except OSError as cause:
            raise BlindingError(
                f"{self.root}: the project cannot be opened: {cause.strerror}; make it readable"
            ) from cause
        self._folder(_Place("", self.root, ""), descriptor, whole=False)

    def count(self, path: str, number: int = 1) -> None:
        """Count what is examined. Raises BlindingError beyond the limit."""
        self.scanned += number
        if self.scanned > self.limits.files:
            most = f"{self.limits.files:,} files and folders"
            raise too_much(path, f"{self.scanned:,} files and folders were found", most)

    def _folder(self, place: _Place, descriptor: int, *, whole: bool) -> None:
        """List an open folder, and close it. `whole`: marks in it, of an environment, withhold all of it."""
        try:
            status = os.fstat(descriptor)
            place = replace(place, above=(*place.above, (status.st_dev, status.st_ino)))
            try:
                with os.scandir(descriptor) as entries:
                    found = []
                    for entry in entries:
                        self.count(place.path or ".")
                        found.append(entry)
            except OSError as error:
                self._withhold(place.path or ".", Rule(f"cannot be listed: {error.strerror}"))
                return
            names = {entry.name for entry in found}
            if whole and (mark := marked(names)) is not NO_RULE:
                self._withhold(place.path, mark)
                return
            for entry in sorted(found, key=lambda entry: entry.name):
                self._entry(place, descriptor, entry)
        finally:
            os.close(descriptor)

    def _entry(self, place: _Place, descriptor: int, entry: os.DirEntry[str]) -> None:
        name = entry.name
        path = f"{place.path}/{name}" if place.path else name
        own = None if place.own is None else f"{place.own}/{name}" if place.own else name
        real = f"{place.real}/{name}"
        if len(path) > self.limits.path // 4 and len(os.fsencode(path)) > self.limits.path:
            raise too_much(path, f"a path of {len(os.fsencode(path)):,} bytes", f"{self.limits.path:,} bytes")
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # gone since it was listed
            return
        rule = STATE_DIRECTORY if real == self.state_dir else self.profile.withholds(path)
        if not rule and own is not None and own != path:
            rule = self.profile.withholds(own)
        if rule:
            self._withhold(path, rule)
            if rule.compared:
                self.compared += collect(path, real, status, self.limits, self.count)
            return
        here = _Place(
            path,
            real,
            own,
            place.allowed or self.profile.allowed.holds(path),
            place.named or self.profile.named.holds(path),
            # Outside of the project there is no path to match; the link to it was named.
            place.own_allowed or own is None or self.profile.allowed.holds(own),
            place.above,
            place.depth + 1,
        )
        self._consider(here, descriptor, name, status)

    def _consider(self, here: _Place, descriptor: int, name: str, status: os.stat_result) -> None:
        mode = status.st_mode
        folder = stat.S_ISDIR(mode)
        why = self._unshown(here, inside=folder or stat.S_ISLNK(mode))
        if why is not None:
            self._withhold(here.path, why)
            if folder and here.path and self.profile.excluded.may_hold_in(here.path):
                self.compared += collect(
                    here.path, here.real, status, self.limits, self.count, self.profile.excluded
                )
        elif len(os.fsencode(display_name(name))) > _LONGEST_NAME:
            self._withhold(here.path, Rule("its name, escaped, is too long for a file"))
        elif stat.S_ISLNK(mode):
            self._link(here)
        elif folder:
            self._descend(here, descriptor, name)
        elif stat.S_ISREG(mode):
            self.visible.append(Seen(here.path, here.real, stamp_of(status)))
        else:
            self._withhold(here.path, Rule(describe_kind(mode)))

    def _unshown(self, here: _Place, *, inside: bool) -> Rule | None:
        """Why the profile does not show it; None where it does, or may show something `inside` it."""
        profile = self.profile
        for held, patterns, path, why in (
            (here.allowed, profile.allowed, here.path, _NOT_ALLOWED),
            (here.own_allowed, profile.allowed, here.own or "", _NOT_ALLOWED),
            (here.named, profile.named, here.path, _NOT_NAMED),
        ):
            if not held and not (inside and patterns.may_hold_in(path)):
                return why
        return None

    def _descend(self, here: _Place, descriptor: int | None, name: str) -> None:
        if here.depth > self.limits.depth:
            most = f"{self.limits.depth} folders within each other"
            raise too_much(here.path, f"a folder at level {here.depth}", most)
        try:
            inner = open_folder(name, descriptor)
        except OSError as error:
            self._withhold(here.path, Rule(f"cannot be opened: {error.strerror}"))
            return
        self._folder(here, inner, whole=True)

    def _link(self, here: _Place) -> None:
        led = lead(here.real, self.root)
        refusal = self._refusal(here, led)
        if refusal is not None or led.status is None:
            self._withhold(here.path, Rule(refusal or led.why))
            return
        if led.own is None:
            self.led_out[display_name(here.path)] = display_name(led.real)
        there = replace(
            here,
            real=led.real,
            own=led.own,
            own_allowed=led.own is None or self.profile.allowed.holds_below(led.own),
        )
        mode = led.status.st_mode
        why = self._unshown(there, inside=stat.S_ISDIR(mode))
        if why is not None:
            self._withhold(here.path, Rule(f"a link to {display_name(led.words)}, which is {why.why}"))
        elif stat.S_ISDIR(mode):
            if (led.status.st_dev, led.status.st_ino) in here.above:
                self._withhold(here.path, Rule("a link to a folder that it lies in"))
            else:
                self._descend(there, None, led.real)
        elif stat.S_ISREG(mode):
            self.visible.append(Seen(here.path, led.real, stamp_of(led.status)))
        else:
            self._withhold(here.path, Rule(f"a link to {describe_kind(mode)}"))

    def _refusal(self, here: _Place, led: Led) -> str | None:
        if led.status is None:
            return led.why
        words = display_name(led.words)
        for folder in (self.root, self.state_dir, *self.forbidden):
            if folder == led.real or folder.startswith(f"{led.real.rstrip('/')}/"):
                return f"a link to {words}, which holds what is withheld"
        for folder in (self.state_dir, *self.forbidden):
            if led.real.startswith(f"{folder}/"):
                return f"a link to {words}, which is withheld: {STATE_DIRECTORY.why}"
        if led.own is None:
            if not self.profile.follows(here.path):
                return (
                    f"a link out of the project, to {words}, that neither the criterion nor the profile names"
                )
            # Parent folders that the target shares with the project say nothing about it.
            shared = os.path.commonpath([self.root, led.real])
            parts = [path for path in prefixes(led.real) if len(path) > len(shared)]
            rules = [(path, self.profile.withholds(path)) for path in parts]
        else:
            parts = [f"{self.root}/{path}" for path in prefixes(led.own)]
            rules = [(path, self.profile.withholds(path)) for path in prefixes(led.own)]
        for (_, rule), real in zip(rules, parts, strict=True):
            rule = rule or mark_at(real)
            if rule:
                return f"a link to {words}, which is withheld: {rule.why}"
        return None

    def _withhold(self, path: str, rule: Rule) -> None:
        self.withheld[display_name(path)] = rule.why
