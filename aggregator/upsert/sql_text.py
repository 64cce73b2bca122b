"""SQL text of a user: its names by position, and the places of each SELECT's clauses. Pure.

ClickHouse and sqlglot read comments, escapes and `$` differently. So a text is first read here by
ClickHouse's rules, and sqlglot gets a copy of the same length: comments are spaces, and no string
or quoted name has an escape or a quote in it. A position in the copy is that of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from sqlglot.errors import TokenError

DIALECT = "clickhouse"
_PIECES = re.compile(
    r"""
    (?P<space>\s+)
    | (?P<comment>--[^\n]* | \#[\ !][^\n]* | /\*.*?\*/)
    | (?P<string>'(?:[^'\\]|\\.|'')*')
    | (?P<quoted>`(?:[^`\\]|\\.|``)*` | "(?:[^"\\]|\\.|"")*")
    | (?P<virtual>\$[A-Za-z_]\w*)
    | (?P<word>\w+)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)|(``|\"\"|'')", re.DOTALL)
_CHARACTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}
_UNCLOSED = {"'": "a string", "`": "a quoted name", '"': "a quoted name"}
_STAND_IN = "ǂ"
"""Letter in place of the $ of a virtual column, which sqlglot takes for a string's beginning."""
_OPENING, _CLOSING = "([{", ")]}"
_CLAUSES = {
    "FROM": 1,
    "PREWHERE": 2,
    "WHERE": 3,
    "GROUP BY": 4,
    "HAVING": 5,
    "WINDOW": 6,
    "QUALIFY": 7,
    "ORDER BY": 8,
    "LIMIT": 9,
    "OFFSET": 9,
    "FETCH": 9,
    "INTO": 10,
    "SETTINGS": 10,
    "FORMAT": 10,
}
"""Keywords of clauses, and their order in a SELECT."""


class QueryRefused(ValueError):
    """Query that cannot be read at a mark. The text names the construct and the mend."""


class Span(NamedTuple):
    """Part of a text: from `start` up to, and without, `end`."""

    start: int
    end: int

    def contains(self, position: int) -> bool:
        return self.start <= position < self.end


class Token(NamedTuple):
    """Token of a text: `end` is the position of its last character."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadText:
    """Text with a copy for sqlglot.

    Args:
        names: quoted names and virtual columns by their position, as ClickHouse reads them.
    """

    text: str
    copy: str
    names: Mapping[int, str]


def read_text(text: str) -> ReadText:
    """Reads a text by ClickHouse's rules. Raises QueryRefused."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise QueryRefused("the query is no text of UTF-8") from None
    copy: list[str] = []
    names: dict[int, str] = {}
    for match in _PIECES.finditer(text):
        piece, at = match.group(), match.start()
        match match.lastgroup:
            case "space" | "comment":
                copy.append(" " * len(piece))
            case "string":
                copy.append(f"'{_without_escapes(piece[1:-1])}'")
            case "quoted":
                names[at] = _ESCAPE.sub(_unescaped, piece[1:-1])
                copy.append(f"`{_without_escapes(piece[1:-1])}`")
            case "virtual":
                names[at] = piece
                copy.append(_STAND_IN + piece[1:])
            case "sign":
                _refuse_sign(piece, text, at)
                copy.append(piece)
            case _:
                copy.append(piece)
    return ReadText(text, "".join(copy), names)


def _without_escapes(inner: str) -> str:
    return re.sub(r"[\\`'\"]", "_", inner) if re.search(r"[\\`'\"]", inner) else inner


def _unescaped(match: re.Match[str]) -> str:
    escaped, doubled = match.groups()
    return doubled[0] if doubled else _CHARACTERS.get(escaped, escaped)


def _refuse_sign(sign: str, text: str, at: int) -> None:
    line = text.count("\n", 0, at) + 1
    if sign in _UNCLOSED:
        raise QueryRefused(f"{_UNCLOSED[sign]} that begins in line {line} does not end")
    if text.startswith("/*", at):
        raise QueryRefused(f"a comment that begins in line {line} does not end")
    if sign == "$":
        raise QueryRefused(f"$ in line {line} is no column of ours, and no heredoc is taken")
    if sign in "#\0" or not sign.isascii():
        raise QueryRefused(f"the sign {sign!a} in line {line} is none of ClickHouse's")


# -- places of clauses


@dataclass(slots=True)
class SelectText:
    """Places of a SELECT in its text, by numbers of tokens.

    Args:
        first: the SELECT, or the WITH before it.
        keyword: the SELECT.
        end: the token behind the last one.
        clauses: keyword of each clause, and its number.
        with_: the WITH; None without one.
        last_limit: the LIMIT behind LIMIT .. BY; None without one.
    """

    first: int
    keyword: int
    end: int = 0
    clauses: dict[str, int] = field(default_factory=dict)
    with_: int | None = None
    last_limit: int | None = None

    def clause_end(self, word: str) -> int:
        """Returns the number of the token behind a clause's last one; SELECT is the list."""
        begin = self.keyword if word == "SELECT" else self.clauses[word]
        return min((at for at in self.clauses.values() if at > begin), default=self.end)


@dataclass(slots=True)
class _Frame:
    """Bracket that is open, or the whole text."""

    begin: int
    select: SelectText | None = None
    with_: int | None = None


class Statement:
    """Text with its tokens, and the places of its SELECTs.

    Raises QueryRefused for a text that cannot be read.
    """

    def __init__(self, text: str) -> None:
        from sqlglot import tokenize

        self.read = read_text(text)
        self.text = text
        try:
            found = tokenize(self.read.copy, read=DIALECT)
        except TokenError as error:
            raise QueryRefused(f"the query cannot be read: {error}") from None
        self.tokens = [Token(each.text, each.start, each.end) for each in found]
        self.selects: list[SelectText] = []
        self.closing: dict[int, int] = {}
        """Number of the bracket that closes, by that of the one that opens."""
        self._number = {token.start: at for at, token in enumerate(self.tokens)}
        self._find_selects()

    @cached_property
    def copy(self) -> str:
        """Copy for sqlglot, which knows no LIMIT behind LIMIT .. BY."""
        copy = self.read.copy
        for select in self.selects:
            if select.last_limit is not None:
                later = [at for at in select.clauses.values() if at > select.last_limit]
                start, end = self.span(select.last_limit, min([*later, select.end]))
                copy = copy[:start] + " " * (end - start) + copy[end:]
        return copy

    def number_at(self, position: int) -> int:
        """Returns the number of the token that begins at a position."""
        return self._number[position]

    def name_at(self, position: int) -> str:
        """Returns the name that begins at a position, as ClickHouse reads it."""
        found = self.read.names.get(position)
        return self.tokens[self._number[position]].text if found is None else found

    def span(self, first: int, end: int) -> Span:
        """Returns the part of the text from a token up to, and without, another one."""
        return Span(self.tokens[first].start, self.tokens[end - 1].end + 1)

    def select_at(self, position: int) -> SelectText | None:
        """Returns the innermost SELECT around a position."""
        around = [
            each for each in self.selects if self.span(each.first, each.end).contains(position)
        ]
        return max(around, key=lambda each: each.first, default=None)

    def select_around(self, select: SelectText) -> SelectText | None:
        """Returns the innermost SELECT around another one."""
        around = [
            each for each in self.selects if each.first < select.first and each.end >= select.end
        ]
        return max(around, key=lambda each: each.first, default=None)

    def list_begin(self, select: SelectText) -> int:
        """Returns the number of the first token of a SELECT's list."""
        at = select.keyword + 1
        if self.word(at) == "DISTINCT":
            at += 1
            if self.word(at) == "ON" and self.word(at + 1) == "(":
                at = self.closing[at + 1] + 1
        return at + 2 if self.word(at) == "TOP" else at

    def items(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields the items of a list: numbers of each one's first token, and of that behind it."""
        begin, at = first, first
        while at < end:
            if self.tokens[at].text == "," and at not in self.closing:
                yield begin, at
                begin = at + 1
            at = self.closing.get(at, at) + 1
        if begin < end:
            yield begin, end

    def terms(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields the terms of a condition that are joined by AND, as items() does; none for one
        that has OR, or an AND of another meaning."""
        outside = []
        at = first
        while at < end:
            outside.append(at)
            at = self.closing.get(at, at) + 1
        words = {at: self.word(at) for at in outside}
        if not {"OR", "XOR", "BETWEEN", "?", "->", "||"}.isdisjoint(words.values()):
            return
        begin = first
        for at in [*(at for at in outside if words[at] == "AND"), end]:
            yield begin, at
            begin = at + 1

    def word(self, number: int) -> str:
        """Returns a token as a keyword; empty for a quoted name, a string, and beyond the end."""
        if not 0 <= number < len(self.tokens):
            return ""
        token = self.tokens[number]
        is_quoted = self.read.copy[token.start] in "`'"
        return "" if is_quoted else " ".join(token.text.upper().split())

    def _find_selects(self) -> None:
        frames = [_Frame(0)]
        for at in range(len(self.tokens)):
            frame = frames[-1]
            word = self.word(at)
            if word and word in _OPENING:
                frames.append(_Frame(at))
            elif word and word in _CLOSING:
                self._end(frame, at)
                frames.pop()
                if not frames:
                    raise QueryRefused("a bracket is closed that was not opened")
                self.closing[frame.begin] = at
            else:
                self._see(frame, at, word)
        if len(frames) > 1:
            raise QueryRefused("a bracket is not closed")
        self._end(frames[0], len(self.tokens))

    def _see(self, frame: _Frame, at: int, word: str) -> None:
        if self.word(at - 1) in (".", "AS"):
            return
        if word == "SELECT":
            if frame.select is not None:
                raise QueryRefused("a SELECT begins within another one without a bracket")
            frame.select = SelectText(at if frame.with_ is None else frame.with_, at)
            frame.select.with_ = frame.with_
            frame.with_ = None
        elif word == ";" or self._is_set_operation(at, word):
            self._end(frame, at)
        elif word == "WITH" and frame.select is None:
            frame.with_ = at
        elif frame.select is not None and word in _CLAUSES:
            self._see_clause(frame.select, at, word)

    def _see_clause(self, select: SelectText, at: int, word: str) -> None:
        latest = max((_CLAUSES[each] for each in select.clauses), default=0)
        if word == "LIMIT" and word in select.clauses:
            select.last_limit = at
        elif _CLAUSES[word] >= latest and (latest or word in ("FROM", "INTO", "FORMAT")):
            select.clauses.setdefault(word, at)

    def _is_set_operation(self, at: int, word: str) -> bool:
        if word in ("UNION", "INTERSECT"):
            return True
        if word != "EXCEPT":
            return False
        following = self.word(at + 1)
        if following == "(":
            following = self.word(at + 2)
        return following in ("SELECT", "WITH", "ALL", "DISTINCT")

    def _end(self, frame: _Frame, at: int) -> None:
        if frame.select is not None:
            frame.select.end = at
            self.selects.append(frame.select)
        frame.select = None
