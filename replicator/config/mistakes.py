"""Mistakes of a configuration file, each with its path in the file."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

KIND = "kind="
"""Begin of the tags of models that a table's key `kind` chooses. They are no step of a path."""
# Texts by pydantic's type of error.
TEXTS = {
    "bool_type": "should be true or false",
    "dict_type": "should be a table",
    "finite_number": "should be a number",
    "float_type": "should be a number",
    "greater_than_equal": "should be {ge:g} or more",
    "int_type": "should be a whole number",
    "less_than_equal": "should be {le:g} or less",
    "literal_error": "should be {expected}",
    "model_type": "should be a table",
    "path_type": "should be a path, as a text in quotes",
    "string_type": "should be a text in quotes",
    "tuple_type": "should be a list: [...]",
}


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """Mistake to mend: its path in the file, and its text."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class ConfigMistakes(Exception):
    """The configuration cannot be used. Mend each listed mistake in the file, then start again."""

    def __init__(self, file: str, mistakes: Iterable[Mistake]) -> None:
        self.file = file
        self.mistakes = tuple(sorted(set(mistakes)))
        super().__init__(file, self.mistakes)

    def __str__(self) -> str:
        count = len(self.mistakes)
        head = f"{self.file}: {count} mistake{'' if count == 1 else 's'}"
        return "\n".join([head, *(f"  {mistake}" for mistake in self.mistakes)])

    def __reduce__(self) -> tuple[Any, ...]:
        return (ConfigMistakes, (self.file, self.mistakes))


class Contradictions(ValueError):
    """Settings contradict each other; raised inside a pydantic validator.

    Holds (key below the table, text) pairs, so that one validator can name several keys.
    """

    def __init__(self, found: Iterable[tuple[str, str]]) -> None:
        self.found = tuple(found)
        super().__init__("; ".join(f"{key}: {text}" if key else text for key, text in self.found))


def raise_if_any(found: Iterable[tuple[str, str]]) -> None:
    """Raises Contradictions with these (key, text) pairs, if there are any."""
    pairs = tuple(found)
    if pairs:
        raise Contradictions(pairs)


def translate(error: ValidationError, model: type[BaseModel]) -> list[Mistake]:
    """Translates pydantic's errors into the terms of the file: dotted paths, nearest known keys."""
    mistakes: list[Mistake] = []
    for item in error.errors(include_url=False):
        location = item["loc"]
        cause = item.get("ctx", {}).get("error")
        if isinstance(cause, Contradictions):
            mistakes += (
                Mistake(dotted((*location, key) if key else location), text)
                for key, text in cause.found
            )
        elif item["type"] == "extra_forbidden":
            mistakes.append(unknown_key(location, model))
        elif item["type"] == "union_tag_invalid":
            known = item["ctx"]["expected_tags"].replace(KIND, "").replace(", ", " or ")
            text = f"should be {known} (found {item['input']['kind']!r})"
            mistakes.append(Mistake(dotted((*location, "kind")), text))
        elif item["type"] == "missing":
            mistakes.append(Mistake(dotted(location), "is missing; it has no default"))
        else:
            mistakes.append(Mistake(dotted(location), worded(item) + found(item)))
    return mistakes


def unknown_key(location: tuple[str | int, ...], model: type[BaseModel]) -> Mistake:
    """Returns a mistake that names the nearest known key, or all keys where none is near."""
    table = table_at(location[:-1], model)
    known = sorted(key for key in (table.model_fields if table else {}) if key != "name")
    near = get_close_matches(str(location[-1]), known, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
    return Mistake(dotted(location), f"unknown key; {hint}")


def table_at(location: tuple[str | int, ...], model: type[BaseModel]) -> type[BaseModel] | None:
    """Returns the model of the table at a path of the file; None where there is no table."""
    here: Any = model
    for step in location:
        if isinstance(here, type) and issubclass(here, BaseModel):
            field = here.model_fields.get(str(step))
            here = field.annotation if field else None
        elif get_origin(here) is dict:
            here = get_args(here)[1]
        elif get_origin(here) is tuple:
            here = get_args(here)[0]
        elif str(step).startswith(KIND):
            here = _of_kind(here, str(step))
        else:
            return None
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _of_kind(union: Any, tag: str) -> Any:
    """Returns the model of a union that has a tag; None if none has."""
    for each in get_args(get_args(union)[0]):
        model, *marks = get_args(each)
        if any(isinstance(mark, Tag) and mark.tag == tag for mark in marks):
            return model
    return None


def dotted(location: Iterable[str | int]) -> str:
    """Returns a path as the file writes it, such as regions.west.regional.bootstrap[0]."""
    path = ""
    for step in location:
        if str(step).startswith(KIND):
            continue
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path


def worded(item: Any) -> str:
    """Returns the error of one value, in TOML's terms where pydantic has Python's."""
    template = TEXTS.get(item["type"])
    if template is not None:
        return template.format(**item.get("ctx", {}))
    text: str = item["msg"]
    return text.removeprefix("Value error, ")


def found(item: Any) -> str:
    """Returns the value found, short enough for one line; nothing if it may hold a password."""
    text = repr(item.get("input"))
    if "@" in text or "password" in text:
        return ""
    return f" (found {text if len(text) <= 60 else text[:57] + '...'})"
