"""Updates in few bytes draw what Textual's own would."""

from rich.console import Console

from tests.tui.console.drawn_cells import cells
from tui.console.textual_internals import tight

RED, BOLD = "\x1b[31m", "\x1b[1m"
RESET = "\x1b[0m"
CONSOLE = Console(force_terminal=True, color_system="truecolor")


def test_a_style_in_force_is_not_repeated():
    text = f"{RED}a{RESET}{RED}b{RESET}\x1b[2;1H{RED}c{RESET}{BOLD}d{RESET}e"
    assert tight(text) == f"{RED}ab\x1b[2;1Hc\x1b[0;1md{RESET}e"
    assert cells(tight(text)) == cells(text)
