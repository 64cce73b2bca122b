"""docs/ARCHITECTURE.md and docs/invariants.md name files and functions that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
ARCHITECTURE, INVARIANTS = (
    (CHECKOUT / "docs" / name).read_text() for name in ("ARCHITECTURE.md", "invariants.md")
)
FOLDERS = ("aggregator", "balancer", "bench", "deploy", "replicator", "tests", "tui")
PAGES = (*sorted((CHECKOUT / "docs").glob("*.md")), CHECKOUT / "README.md")
NAMES_IN_FILES = re.compile(r"((?:`\w+`(?:,| and| or)\s+)*`\w+`)\s+in\s+`([\w/]+\.py)`")


@cache
def files() -> tuple[str, ...]:
    """Returns all modules, as paths from the checkout."""
    return tuple(
        path.relative_to(CHECKOUT).as_posix()
        for folder in FOLDERS
        for path in (CHECKOUT / folder).rglob("*.py")
    )


def files_of(name: str) -> list[str]:
    """Returns the files that a page may mean by a path whose first folders are left out."""
    return [path for path in files() if f"/{path}".endswith(f"/{name}")]


def wrong_paths(page: str) -> dict[str, list[str]]:
    """Returns the paths of a page that are those of no file, or of several."""
    named = set(re.findall(r"`([\w/]+\.py)`", page))
    return {name: found for name in sorted(named) if len(found := files_of(name)) != 1}


def unclear_folders(page: str) -> dict[str, list[str]]:
    """Returns the folders of a page that are those of none of the product's, or of several.

    A name with a "/" behind it, or within it, is a folder's; one that begins at the checkout is
    clear.
    """
    rooms = {str(Path(path).parent) for path in files() if not path.startswith("tests/")}
    found = {}
    for name in sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+|[a-z_]+/)`", page))):
        of_name = [each for each in sorted(rooms) if f"/{each}/".endswith(f"/{name.rstrip('/')}/")]
        if not (CHECKOUT / name).is_dir() and len(of_name) != 1:
            found[name] = of_name
    return found


def names_in_files(page: str) -> Iterator[tuple[str, str]]:
    """Yields (name, path) of each name that a page says is in a file."""
    for names, path in NAMES_IN_FILES.findall(page):
        yield from ((name, path) for name in re.findall(r"`(\w+)`", names))


def defined_in(source: str) -> set[str]:
    """Returns the functions, classes and values that a module defines, those of classes too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign():
                found |= {each.id for each in node.targets if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


@pytest.mark.parametrize("page", [ARCHITECTURE, INVARIANTS], ids=["ARCHITECTURE", "invariants"])
def test_each_path_is_that_of_one_file(page: str) -> None:
    assert not wrong_paths(page)


def test_each_path_of_the_guide_has_its_folder_and_each_folder_is_there() -> None:
    assert not re.findall(r"`(\w+\.py)`", ARCHITECTURE), "without a folder"
    assert not unclear_folders(ARCHITECTURE)


@pytest.mark.parametrize("page", PAGES, ids=[path.name for path in PAGES])
def test_no_page_names_a_file_that_is_gone(page: Path) -> None:
    assert not [name for name, found in wrong_paths(page.read_text()).items() if not found]


@pytest.mark.parametrize(("name", "path"), sorted(set(names_in_files(ARCHITECTURE))))
def test_each_name_is_in_the_file_that_the_guide_names(name: str, path: str) -> None:
    (file,) = files_of(path)
    assert name in defined_in((CHECKOUT / file).read_text())


def test_each_rule_is_guarded_by_tests_that_exist() -> None:
    live = defined_in((CHECKOUT / "tests" / "live" / "test_rules.py").read_text())
    rows = re.findall(r"^\| \d+ \|.*\| ([^|]*) \|$", INVARIANTS, re.M)
    patterns = {name for guard in rows for name in re.findall(r"`(test_[\w*]+)`", guard)}
    assert rows and patterns
    assert not {each for each in patterns if not any(fnmatch(name, each) for name in live)}


def test_the_guide_names_each_room_whose_modules_have_to_be_listed() -> None:
    found = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]
    rooms = {
        room
        for contract in found["contracts"]
        if contract.get("exhaustive")
        for room in contract["containers"]
    }
    assert rooms <= set(re.findall(r"`([a-z_.]+)`", ARCHITECTURE))


def test_a_path_of_several_files_is_found_and_so_is_a_name_that_is_in_none() -> None:
    assert wrong_paths("`ledger/takeover.py`, `no_such.py`").keys() == {"no_such.py"}
    assert len(wrong_paths("`daemon.py`")["daemon.py"]) > 1
    assert wrong_paths("`loader/json_documents.py`") == {"loader/json_documents.py": []}
    assert unclear_folders("`mirror/driver`, `aggregator/` and `mirror/loader`") == {
        "mirror/loader": []
    }
    assert len(unclear_folders("`driver/`")["driver/"]) > 1
    assert list(names_in_files("`a`, `b` or `c` in `d/e.py`")) == [
        ("a", "d/e.py"),
        ("b", "d/e.py"),
        ("c", "d/e.py"),
    ]
    assert defined_in("class A:\n    b: int = 1\n\n    def c(self): ...\n\n\nD = 2\n") == set(
        "AbcD"
    )
