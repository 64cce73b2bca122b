"""Docstrings are plain English: the first word names a thing or an action, sentences are short."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.statements import statements

CHECKOUT = Path(__file__).parents[1]
FOLDERS = ("aggregator", "balancer", "replicator", "tui", "deploy", "bench", "tests")
REFUSED_FIRST_WORDS = frozenset(
    [
        "What",
        "Which",
        "Who",
        "Whoever",
        "Whose",
        "Of",
        "One",
        "Those",
        "That",
        "Whether",
        "As",
        "By",
        "Nor",
        "Where",
    ]
)
WORDS_PER_SENTENCE_MAX = 40
SENTENCE_ENDS = re.compile(r"(?<=[.:;?!])\s+|\n\s*\n")


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yields (line, text) of each docstring, those below attributes included."""
    for statement in statements(source):
        match statement:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield statement.lineno, text
            case _:
                pass


def faults(text: str) -> Iterator[str]:
    """Yields the rules that a docstring breaks."""
    first = re.match(r"\W*(\w+)", text)
    if first and first[1] in REFUSED_FIRST_WORDS:
        yield f"begins with {first[1]}: name the thing or the action first"
    for sentence in SENTENCE_ENDS.split(text):
        if len(sentence.split()) > WORDS_PER_SENTENCE_MAX:
            yield f"a sentence of {len(sentence.split())} words: {sentence[:40]}..."


def test_docstrings_begin_with_a_thing_or_an_action_and_sentences_are_short():
    found = [
        f"{path.relative_to(CHECKOUT)}:{line}: {fault}"
        for folder in FOLDERS
        for path in sorted((CHECKOUT / folder).rglob("*.py"))
        for line, text in docstrings(path.read_text())
        for fault in faults(text)
    ]
    assert not found, "\n".join(found)


def test_a_docstring_that_breaks_a_rule_is_found():
    assert list(faults("What it is.")) == ["begins with What: name the thing or the action first"]
    assert list(faults("Returns the offset.")) == []
    assert len(list(faults("Returns " + "very " * 40 + "much."))) == 1
    source = 'class A:\n    """Of a."""\n    b = 1\n    """Of b."""\n'
    assert list(docstrings(source)) == [(2, "Of a."), (4, "Of b.")]
