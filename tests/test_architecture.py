"""The file map in docs/ARCHITECTURE.md is complete, and unit tests have the paths of their
modules."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
TESTS = CHECKOUT / "tests"
PACKAGES = ("balancer", "replicator", "tui")
PROSE_COLUMN = 41
"""Column from which a line that begins a package holds a description."""

ONLY_LIVE = """
    replicator/audit/: target_audit
    replicator/balancing/: daemon tenure
    replicator/carrier/: accept_loss assignment following lanes reporting senders stint taking
    replicator/carrier/: target_watch transaction_watch
    replicator/driver/: office own_topics showing
    replicator/placements/: balance_log board following
    replicator/copies/: commit_follower log_ends log_follower runs_follower
    replicator/kafka/: cluster open_transactions trouble
    replicator/kafka/wire/: fetch leader_epoch metadata produce producers topic_id transactions
    replicator/failover/: arrival
    replicator/ledger/: acquired entries word
    replicator/offset_sync/: peer_tending
    replicator/offsets/: read_back
    replicator/resume/: assignment awaited_runs commits runs_reader
    replicator/spark/: stream
    replicator/survey/: source_facts target_logs
    tui/: balance_desk probe
"""
"""Modules without a test file of their own name: edges, loops and wire formats that tests/live
covers. Remove a module from the list when it gets such a file."""


def modules() -> set[str]:
    """Returns all modules of the packages, as paths from the checkout without suffix."""
    return {
        path.relative_to(CHECKOUT).with_suffix("").as_posix()
        for package in PACKAGES
        for path in (CHECKOUT / package).rglob("*.py")
        if path.name != "__init__.py"
    }


def file_map() -> list[str]:
    """Returns the names in the map as paths from the checkout; a folder stands for all in it."""
    text = (CHECKOUT / "docs" / "ARCHITECTURE.md").read_text()
    found = re.search(r"^## File map\n+```\n(.*?)^```", text, re.M | re.S)
    assert found, "docs/ARCHITECTURE.md has no file map"
    names: list[str] = []
    package = room = ""
    for line in found[1].splitlines():
        heading = re.match(r"( *)(\w+/)(?= |$)", line)
        rest = line
        if heading and not heading[1]:
            package, room = heading[2], ""
            rest = line[heading.end() : PROSE_COLUMN]
        elif heading and len(heading[1]) == 2:
            room, rest = heading[2], line[heading.end() :]
        if package.rstrip("/") in PACKAGES:
            rest = re.sub(r"\(.*?\)", "", rest)
            names += [package + room + name for name in re.findall(r"\w+/?", rest)]
    return names


def test_the_file_map_names_exactly_the_modules_there_are_and_each_once():
    names = file_map()
    folders = tuple(name for name in names if name.endswith("/"))
    assert all(any(module.startswith(folder) for module in modules()) for folder in folders)
    alone = sorted(name for name in names if name not in folders)
    assert alone == sorted(module for module in modules() if not module.startswith(folders))


def test_every_unit_test_stands_where_its_module_does():
    places = {
        (path.parent / path.stem.removeprefix("test_")).relative_to(TESTS)
        for package in (*PACKAGES, "deploy")
        for path in (TESTS / package).rglob("test_*.py")
    }
    homeless = {
        place.as_posix()
        for place in places
        if not (CHECKOUT / place).with_suffix(".py").exists()
        # tests/deploy/test_appliance_toml.py tests deploy/appliance.toml.
        and not (CHECKOUT / place.parent / place.name.replace("_", ".")).exists()
    }
    assert not homeless


def test_every_module_has_a_test_file_of_its_own_or_is_named_as_driven_by_live_tests():
    lines = (line.split(":") for line in ONLY_LIVE.split("\n") if line)
    named = {folder.strip() + name for folder, names in lines for name in names.split()}
    assert {module for module in modules() if not has_own_test(module)} == named


def has_own_test(module: str) -> bool:
    """Returns True if the module has a test file at its own path, or one of its name in
    tests/live."""
    folder, _, name = module.rpartition("/")
    return any((place / f"test_{name}.py").exists() for place in (TESTS / folder, TESTS / "live"))
