"""Statements of a source text, without the expressions in them, which are most of its nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Attributes of a statement that hold statements, or what holds statements."""


def blocks(node: ast.AST) -> Iterator[list[ast.AST]]:
    """Yields each list of statements below a node, nested ones too, in the order of the text."""
    for name in BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
            for each in block:
                yield from blocks(each)


def statements(source: str) -> Iterator[ast.AST]:
    """Yields all statements of a source text."""
    for block in blocks(ast.parse(source)):
        yield from block
