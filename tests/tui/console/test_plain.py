"""Plain text: no control character gets through, and widths are exact."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.console.plain import fitted, plain, wrapped


@given(st.text(), st.integers(0, 40), st.booleans())
def test_a_fitted_text_has_exactly_its_width_and_no_control_character(text, width, is_right):
    found = fitted(text, width, is_right)
    assert cell_len(found) == width
    assert not any(unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp") for each in found)


@given(st.text(), st.integers(2, 30))
def test_wrapped_lines_fit_and_keep_every_word(text, width):
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == plain(text).replace(" ", "")


def test_escapes_are_shown_as_text():
    assert plain("a\x1b[31mb") == "a\\x1b[31mb"
    assert fitted("orders\n", 10) == "orders\\n  "
    assert fitted("orders-long-name", 8) == "orders-…"
    assert fitted("7", 3, is_right=True) == "  7"
