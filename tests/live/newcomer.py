"""Newcomer to the console: finds a cause with keys that the screen names, and with no others."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deploy.lab.wait import until
from tests.live.terminal import Terminal

LOOK_SECONDS = 3.0
"""Time for which a screen is read before the next key."""
STAY_SECONDS = 8.0
"""Time for which a screen is read that leads no deeper."""
ALARM_SECONDS = 2.0
"""Time for which a sign of a fault is there before it is followed."""
CALM_SECONDS = 60.0
JOB_SECONDS = 120.0
TMUX = {"enter": "Enter", "esc": "Escape"}
"""Names of keys in tmux, by their names on the screen."""
SCREEN = re.compile(r"(?<!\S)(\d) ([a-z]+)")
OPEN_ALERTS = re.compile(r"ALERTS (\d+) open")
FAULTS = re.compile(r"\S(>\S*|…) +(UNKNOWN|PARKED|WAITS|STALLED|BEHIND|PAUSED) ")
"""Route with its state. A name that is too long ends with dots."""


@dataclass(frozen=True, slots=True)
class Found:
    """Screen that tells a cause, and the way to it.

    Args:
        keys: pressed since the overview.
        seconds: since the fault.
    """

    screen: str
    keys: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return f"{len(self.keys)} keys ({' '.join(self.keys)}), {self.seconds:.0f} s"


class Newcomer:
    """Operator who has never seen the console.

    Screens are named in a line of their own, keys in the line below. An alert is looked at before
    a route, since the overview names alerts as open. Rows are sorted with the worst first, so the
    first row of a table is opened.
    """

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.keys: list[str] = []

    # -- reading

    @property
    def screen(self) -> str:
        return self.terminal.screen()

    def offered(self) -> dict[str, str]:
        """Returns the labels of the keys that the screen names and does not grey."""
        lines = self.screen.rstrip().splitlines()
        found = {key: label for line in lines[-2:] for key, label in SCREEN.findall(line)}
        for hint in re.split(r"\s{2,}", lines[-1].strip() if lines else ""):
            key, _, label = hint.partition(" ")
            if label and not hint.startswith("("):
                found[key] = label
        return found

    def sees(self, *needed: str, seconds: float = LOOK_SECONDS) -> bool:
        """Returns True once the screen has a match of every pattern."""
        return until(lambda: self._matches(needed), seconds, 0.2)

    def _matches(self, needed: tuple[str, ...]) -> bool:
        screen = self.screen
        return all(re.search(pattern, screen) for pattern in needed)

    # -- pressing

    def press(self, key: str) -> None:
        """Presses a key. Fails when the screen does not name it, or greys it."""
        assert until(lambda: key in self.offered(), LOOK_SECONDS), (
            f"the screen does not name {key}, but {self.offered()}:\n{self.screen}"
        )
        self.keys.append(key)
        self.terminal.press(TMUX.get(key, key))

    def seek(self, *needed: str, since: float, seconds: float = 60.0) -> Found:
        """Looks until one screen has a match of every pattern, beginning at the overview.

        Args:
            since: time of the fault, by the monotonic clock.
            seconds: since the fault.
        """
        self.keys.clear()
        left = since + seconds - time.monotonic()
        assert until(self._is_alarmed, left), f"no sign of a fault:\n{self.screen}"
        seen = [self.screen]
        for screen in ("alerts", "routes"):
            if screen == "alerts" and not self._open_alerts():
                continue
            self.press(self._key_of(screen))
            while True:
                if self._sees_here(*needed):
                    return Found(self.screen, tuple(self.keys), time.monotonic() - since)
                seen.append(self.screen)
                if not self._leads_on():
                    break
                self.press("enter")
        if self.sees(*needed, seconds=since + seconds - time.monotonic()):
            return Found(self.screen, tuple(self.keys), time.monotonic() - since)
        raise AssertionError("\n".join([f"not found: {needed}", *seen, self.screen]))

    def _key_of(self, screen: str) -> str:
        return next(key for key, label in self.offered().items() if label == screen)

    def _sees_here(self, *needed: str) -> bool:
        """Returns True if the screen tells; one that leads no deeper is read for longer."""
        if self.sees(*needed):
            return True
        return not self._leads_on() and self.sees(*needed, seconds=STAY_SECONDS)

    def _leads_on(self) -> bool:
        return "enter" in self.offered()

    def _open_alerts(self) -> int:
        found = OPEN_ALERTS.search(self.screen)
        return int(found[1]) if found else 0

    def _is_alarmed(self) -> bool:
        """Returns True when there is a sign of a fault that is no flicker."""
        return self._lasts(lambda: self._open_alerts() > 0 or bool(FAULTS.search(self.screen)))

    def until_calm(self) -> None:
        """Waits until the overview shows no sign of a fault, and goes on doing so."""

        def is_calm() -> bool:
            screen = self.screen
            return "ALERTS 0 open" in screen and not FAULTS.search(screen)

        assert until(lambda: self._lasts(is_calm), CALM_SECONDS), f"no calm:\n{self.screen}"

    @staticmethod
    def _lasts(sign: Callable[[], bool]) -> bool:
        """Returns True when the sign is there, and stays for a while."""
        give_up_at = time.monotonic() + ALARM_SECONDS
        while sign():
            if time.monotonic() >= give_up_at:
                return True
            time.sleep(0.2)
        return False

    # -- steering

    def fill(self, values: Mapping[str, str]) -> None:
        """Fills in the form on screen, of which each field is a line; enter leads to the next."""
        for name, value in values.items():
            assert self.sees(rf"(?m)^\W*{name} "), f"no field {name}:\n{self.screen}"
            if value:
                self.terminal.write(value)
            self.terminal.press("Enter")

    def confirm(self, text: str = "") -> None:
        """Types what the dialog on screen asks for, and enter."""
        asked = f"Type {text} to run it" if text else "enter runs it"
        assert self.sees(re.escape(asked)), f"never asked: {asked}:\n{self.screen}"
        if text:
            self.terminal.write(text)
        self.terminal.press("Enter")

    def until_job_says(self, *needed: str) -> str:
        """Waits until the page of the job says so, and returns it."""
        assert self.sees(*needed, seconds=JOB_SECONDS), f"never {needed}:\n{self.screen}"
        return self.screen
