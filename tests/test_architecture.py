"""Unit tests stand in the folder of the room that they test, and each room has some."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
TESTS = CHECKOUT / "tests"
PACKAGES = ("aggregator", "balancer", "replicator", "tui")


def rooms() -> set[str]:
    """Returns the folders of the packages that hold modules, as paths from the checkout."""
    return {
        path.parent.relative_to(CHECKOUT).as_posix()
        for package in PACKAGES
        for path in (CHECKOUT / package).rglob("*.py")
        if path.name != "__init__.py"
    }


def folders_with_tests() -> set[str]:
    """Returns the folders of the packages that unit tests mirror, whether they exist or not."""
    return {
        path.parent.relative_to(TESTS).as_posix()
        for package in PACKAGES
        for path in (TESTS / package).rglob("test_*.py")
    }


def test_unit_tests_stand_in_the_folder_of_their_room():
    assert not folders_with_tests() - rooms()


def test_each_room_has_unit_tests_or_live_tests_of_its_modules():
    untested = rooms() - folders_with_tests()
    assert not {room for room in untested if not has_live_tests(room)}


def has_live_tests(room: str) -> bool:
    """Returns True if tests/live has a file named after a module of the room."""
    names = [path.stem for path in (CHECKOUT / room).glob("*.py")]
    return any((TESTS / "live" / f"test_{name}.py").exists() for name in names)
