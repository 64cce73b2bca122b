"""Progress display: a bar on a terminal, a line every few seconds elsewhere."""

import io

from tui.cli.progress import BAR_CHARACTERS, LINE_SECONDS, Waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_in_one_line():
    stream = Terminal()
    waiting = Waiting("arriving", stream)
    for left in (100, 25, 0):
        waiting.show(left, f"missing: {left}", now_seconds=0.0)
    waiting.end()
    first, second, third = stream.getvalue().split("\r\x1b[K")[1:]
    assert first == f"arriving [{'.' * BAR_CHARACTERS}]   0%  missing: 100"
    assert second.startswith("arriving [######################........]  75%")
    assert third == f"arriving [{'#' * BAR_CHARACTERS}] 100%  missing: 0\n"


def test_a_log_gets_a_line_every_few_seconds():
    stream = io.StringIO()
    waiting = Waiting("arriving", stream)
    for now_seconds in (0.0, LINE_SECONDS / 2, LINE_SECONDS):
        waiting.show(3, f"at {now_seconds:g}", now_seconds)
    waiting.end()
    assert stream.getvalue() == "arriving: at 0\narriving: at 5\n"


def test_nothing_to_wait_for_is_a_full_bar():
    stream = Terminal()
    Waiting("arriving", stream).show(0, "nothing", 0.0)
    assert "100%" in stream.getvalue()
