"""Private parts of Textual: updates in few bytes draw what Textual's own would."""

import re
from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate
from textual.strip import Strip

from tui.console.textual_internals import TightUpdate, tight

CONSOLE = Console(force_terminal=True, color_system="truecolor")
FOLDER = Path(__file__).parents[3] / "tui" / "console"


def cells(text: str) -> dict[tuple[int, int], tuple[str, str]]:
    """Returns (character, style) by place, as a terminal would show it."""
    found, style, x, y = {}, "", 0, 0
    for token in re.split(r"(\x1b\[[0-9;]*[mH])", text):
        if move := re.fullmatch(r"\x1b\[(\d+);(\d+)H", token):
            y, x = int(move[1]) - 1, int(move[2]) - 1
        elif token.endswith("m") and token.startswith("\x1b"):
            codes = token[2:-1].split(";")
            style = "" if codes == ["0"] else ";".join(codes[1:] if codes[0] == "0" else codes)
        else:
            for character in token:
                found[x, y] = character, style
                x += 1
    return found


def test_only_the_cells_of_a_span_are_written():
    strip = Strip([Segment("abcdef", Style(color="red")), Segment("ghij", Style(bold=True))])
    update = ChopsUpdate([{0: strip}], [(0, 4, 8)], [[10]])
    written = TightUpdate.of(update).render_segments(CONSOLE)
    assert [cells(written)[x, 0][0] for x in range(4, 8)] == ["e", "f", "g", "h"]
    assert len(cells(written)) == 4
    assert len(written) < len(update.render_segments(CONSOLE))


def test_a_wide_character_at_the_edge_of_a_span_keeps_the_width():
    strip = Strip([Segment("a漢字b")])
    update = TightUpdate.of(ChopsUpdate([{0: strip}], [(0, 1, 3)], [[6]]))
    assert update.render_segments(CONSOLE).endswith("漢")


def test_no_other_module_imports_private_parts_of_textual():
    private = re.compile(r"^\s*(from|import) (textual|rich)\S*\._", re.MULTILINE)
    found = {path.stem for path in FOLDER.rglob("*.py") if private.search(path.read_text())}
    assert found == {"textual_internals"}


# --- Updates in few bytes draw what Textual's own would.

RED, BOLD = "\x1b[31m", "\x1b[1m"
RESET = "\x1b[0m"


def test_a_style_in_force_is_not_repeated():
    text = f"{RED}a{RESET}{RED}b{RESET}\x1b[2;1H{RED}c{RESET}{BOLD}d{RESET}e"
    assert tight(text) == f"{RED}ab\x1b[2;1Hc\x1b[0;1md{RESET}e"
    assert cells(tight(text)) == cells(text)
