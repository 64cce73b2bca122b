"""Bars of the console: the top line, the line of the page, and the keys at the bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.console.built_page import BuiltPage
from tui.console.keys import KEYS, SCREENS, Keymap, shown
from tui.console.styled_text import StyledLine, StyledText, ends, styled
from tui.console.view_state import ViewState
from tui.facts.moments import clock_text
from tui.pages.page import Action

if TYPE_CHECKING:
    from tui.recording.replay import ReplayState

FILE_WIDTH_MIN = 20
"""Cells of a file's name that are shown: a long one must not push out the mode."""
ARROWS = "↑↓"
MODE_TONES = {"READING": "bar", "STEERING": "on", "REPLAY": "on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopFacts:
    """Facts of the top line.

    Args:
        mode: READING, STEERING or REPLAY.
        age, age_tone: of the data that is shown.
        now: Unix seconds; of the snapshot in a replay.
        notice: said of a replay.
        problem: why nothing newer can be shown.
    """

    file: str
    mode: str
    age: str
    age_tone: str
    now: float
    is_frozen: bool = False
    notice: str = ""
    problem: str = ""


def top_line(facts: TopFacts, help_key: str, width: int) -> StyledLine:
    """Returns the top line."""
    left = [
        StyledText(" sluice  ", "bar"),
        styled(facts.file[: max(FILE_WIDTH_MIN, width // 4)], "bar"),
        StyledText("  ", "bar"),
        styled(facts.mode, MODE_TONES.get(facts.mode, "bar")),
        StyledText(" FROZEN" if facts.is_frozen else "", "on"),
        StyledText("  ", "bar"),
        styled(facts.age, {"bad": "on", "warn": "key"}.get(facts.age_tone, "bar")),
    ]
    if facts.problem:
        left += [StyledText("  ", "bar"), styled(f"FAILS: {facts.problem}", "on")]
    if facts.notice:
        left += [StyledText("  ", "bar"), styled(facts.notice, "bar")]
    right = [styled(f"{clock_text(facts.now)}Z  ", "bar"), styled(f"{help_key}help ", "key")]
    return ends(left, right, width, "bar")


def replay_text(state: ReplayState) -> str:
    """Returns what the top line says of a replay."""
    parts = [f"x{state.speed:g}" if state.speed else "stands"]
    parts += ["at the end"] if state.is_at_end else []
    parts += [state.problem] if state.problem else []
    parts += [state.mark] if state.mark else []
    return "  ".join(parts)


def page_line(
    page: BuiltPage, view: ViewState, position: tuple[int, int], width: int
) -> StyledLine:
    """Returns the line of the page: title, what is left out, place of the cursor."""
    left = [StyledText(" "), styled(page.title, "heading")]
    found = page.place(view.cursor_at)
    if found and found[0].sorted_by:
        names = ", ".join(title.removeprefix("-") for title in found[0].sorted_by)
        turned = ", reversed" if found[0].is_reversed else ""
        left.append(styled(f"  sort {names}{turned}", "dim"))
    right: list[StyledText] = []
    if page.newest_at() is not None:
        following = ("follows  ", "good") if view.is_following else ("does not follow  ", "dim")
        right.append(StyledText(*following))
    if view.is_faults_only:
        right.append(StyledText("faults only  ", "warn"))
    if view.is_wide:
        right.append(StyledText("wide  ", "dim"))
    if page.problem:
        right.append(styled(f"{page.problem}  ", "bad"))
    elif view.filter:
        right.append(styled(f"/{view.filter}  ", "warn"))
    right.append(StyledText(f"{position[0]} of {position[1]} ", "dim"))
    return ends(left, right, width)


def screens_line(keymap: Keymap, current: str, width: int) -> StyledLine:
    """Returns the line of screens, with the current one marked."""
    pieces: list[StyledText] = []
    for name in SCREENS:
        is_on = name == current
        pieces.append(styled(f"{keymap.key(name)} {name}", "on" if is_on else "bar"))
        pieces.append(StyledText(" ", "bar"))
    return ends([StyledText(" ", "bar"), *pieces], [], width, "bar")


@dataclass(frozen=True, slots=True)
class Hint:
    """Key with its label in the key bar.

    Args:
        is_off: greyed.
        is_spare: left out where it would push out another one.
    """

    key: str
    label: str
    is_off: bool = False
    is_spare: bool = False


def hints(
    keymap: Keymap, actions: Sequence[tuple[Action, str | None]], is_replay: bool, can_open: bool
) -> list[Hint]:
    """Returns the hints of a page, the most useful first.

    Args:
        actions: actions of the page, each with the reason why it is off.
    """
    found = [Hint(ARROWS, "", is_spare=True)] if has_arrows(keymap) else []
    found += [Hint(keymap.key("open"), "in", not can_open), Hint(keymap.key("back"), "out")]
    # All that has no room here is found there.
    found.append(Hint(keymap.key("palette"), "actions"))
    found += [Hint(shown(action.key), action.label, why is not None) for action, why in actions]
    names = ["filter", "sort", "faults", "wide", "row-groups", "row-events", "search"]
    names += ["copy", "export", "freeze", "jobs", "quit"]
    if is_replay:
        names = [each.name for each in KEYS if each.is_replay] + names
    labels = {each.name: each.label for each in KEYS}
    found += [Hint(keymap.key(name), labels[name]) for name in names if keymap.key(name)]
    return found


def has_arrows(keymap: Keymap) -> bool:
    """Returns True when the arrow keys move the cursor."""
    return keymap.name("up") == "up" and keymap.name("down") == "down"


def hints_line(found: Sequence[Hint], width: int) -> StyledLine:
    """Returns the line of hints that fit; a greyed hint is in brackets, in words as in colour."""
    texts = {at: hint_texts(hint) for at, hint in enumerate(found)}
    sizes = {at: sum(each.width for each in pieces) + 2 for at, pieces in texts.items()}
    kept = _fitting([at for at in texts if not found[at].is_spare], sizes, width)
    for at in texts:
        # The gap after the last hint may be cut.
        if found[at].is_spare and 1 + sum(sizes[one] for one in (*kept, at)) - 2 <= width:
            kept.append(at)
    pieces: list[StyledText] = [StyledText(" ", "bar")]
    for at in sorted(kept):
        pieces += [*texts[at], StyledText("  ", "bar")]
    return ends(pieces[:-1], [], width, "bar")


def _fitting(places: Sequence[int], sizes: Mapping[int, int], width: int) -> list[int]:
    """Returns the first places that fit."""
    kept, used = [], 1
    for at in places:
        if used + sizes[at] > width:
            break
        kept.append(at)
        used += sizes[at]
    return kept


def hint_texts(hint: Hint) -> list[StyledText]:
    """Returns a hint, without the gap after it."""
    key = styled(hint.key, "off" if hint.is_off else "key")
    if not hint.label:
        return [key]
    label = styled(f" {hint.label}", "off" if hint.is_off else "bar")
    if hint.is_off:
        return [StyledText("(", "off"), key, label, StyledText(")", "off")]
    return [key, label]
