"""Cells of a terminal after a text with escapes was written to it."""

import re


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
