"""docs/operating.md lists every metric and every event of warning or above, and no others."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from aggregator.driver import metrics as feed_metrics
from aggregator.loader.counters import COUNTERS
from aggregator.upsert import upsert_metrics
from replicator.mirror.driver import metrics
from replicator.notices.condition import Kind

CHECKOUT = Path(__file__).parents[1]
PAGE = (CHECKOUT / "docs" / "operating.md").read_text()
VERIFY_PAGE = (CHECKOUT / "docs" / "verify.md").read_text()
SOURCES = sorted(
    path
    for package in ("replicator", "aggregator")
    for path in (CHECKOUT / package).rglob("*.py")
    # docs/verify.md has the events of the verifier.
    if "verifier" not in path.parts
)
QUIET = {"debug", "info"}
LOUD = {"warning", "error", "exception", "critical"}
LOUD_LEVEL = re.compile(r"logging\.(WARNING|ERROR|CRITICAL)|\blevel\b")
EVENT = re.compile(r"event=([a-z][a-z-]*[a-z])")


def said_in(call: ast.Call) -> set[str]:
    """Returns the events in a call's own texts, without those of nested calls."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    parts = [part for each in given for part in getattr(each, "values", [each])]
    texts = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
    chosen = [each for each in call.args if isinstance(each, ast.IfExp)]
    if any("event=%s" in text for text in texts):
        texts += [
            f"event={part.value}"
            for each in chosen
            for part in (each.body, each.orelse)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
    return {event for text in texts for event in EVENT.findall(text)}


def is_loud(call: ast.Call) -> bool:
    """Returns True if the call may log at warning or above; a helper counts if it is given a
    level."""
    if any(keyword.arg == "failed" for keyword in call.keywords):
        return True  # kept_up logs it with a traceback
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in QUIET | LOUD:
        return name in LOUD
    own = call.args if name == "log" else call.args[1:]
    given = [*own, *(keyword.value for keyword in call.keywords)]
    return any(LOUD_LEVEL.search(ast.unparse(each)) for each in given)


def events(source: str) -> Iterator[tuple[str, bool]]:
    """Yields each logged event, with True if it is logged at warning or above."""
    # Most sources log nothing, and take most of the time.
    for node in ast.walk(ast.parse(source)) if "event=" in source else ():
        if isinstance(node, ast.Call):
            yield from ((event, is_loud(node)) for event in said_in(node))


@cache
def logged() -> list[tuple[str, bool]]:
    """Returns the events of all sources."""
    return [found for path in SOURCES for found in events(path.read_text())]


def test_every_event_in_the_sources_is_understood() -> None:
    written = {event for path in SOURCES for event in EVENT.findall(path.read_text())}
    assert written <= {event for event, _ in logged()}


def test_every_event_of_warning_or_above_is_on_the_page() -> None:
    loud = {event for event, loud in logged() if loud}
    assert len(loud) > 15
    assert loud <= set(EVENT.findall(PAGE))


def test_the_page_names_no_event_that_is_never_logged() -> None:
    assert set(EVENT.findall(PAGE)) <= {event for event, _ in logged()}


VERIFIER = CHECKOUT / "aggregator" / "verifier" / "metrics.py"


def metrics_in(source: str) -> set[str]:
    """Returns the names that a collector's source exports; counters end in _total."""
    counters = set(re.findall(r'CounterMetricFamily\(\s*"(sluice_[a-z_]+)"', source))
    others = set(re.findall(r'"(sluice_[a-z_]+)"', source)) - counters
    return others | {f"{name.removesuffix('_total')}_total" for name in counters}


def metrics_on(page: str) -> set[str]:
    return {name.removesuffix("_bucket") for name in re.findall(r"\bsluice_[a-z_]+\b", page)}


def test_metrics_are_the_ones_on_the_page() -> None:
    exported = {gauge.name for gauge in (*metrics.GAUGES, *feed_metrics.GAUGES)}
    exported |= {f"{counter.name}_total" for counter in COUNTERS} | upsert_metrics.NAMES
    for path in (*SOURCES, VERIFIER):
        if path.name == "metrics.py":
            exported |= metrics_in(path.read_text())
    assert exported == metrics_on(PAGE)


def test_metrics_of_the_verifier_are_the_ones_on_its_page() -> None:
    exported = metrics_in(VERIFIER.read_text())
    assert len(exported) > 5
    assert exported == metrics_on(VERIFY_PAGE)


def test_events_are_told_apart_by_level() -> None:
    source = """
log.info("event=a")
log.error("event=b %s", 1)
self._say_once(name, f"event=c {error}", logging.ERROR)
self._say_once(name, f"event=d {name}")
self._say_once(name, f"event=e {name}", level)
log.log(level, "event=%s", "f" if stopped else "g")
"""
    source = source.replace("event=", "event=x-").replace("event=x-%s", "event=%s")
    source = source.replace('"f"', '"x-f"').replace('"g"', '"x-g"')
    assert dict(events(source)) == {
        "x-a": False,
        "x-b": True,
        "x-c": True,
        "x-d": False,
        "x-e": True,
        "x-f": True,
        "x-g": True,
    }


def test_every_kind_of_condition_is_on_the_page() -> None:
    (table,) = re.findall(r"^### Conditions\n(.*?)^The same Redis", PAGE, re.M | re.S)
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, re.M)) == {kind.value for kind in Kind}


FLAGS = {"topic": "--topic", "the same topics": "--topic", "cluster": "--cluster"}
FLAGS |= {"the cluster": "--cluster", "group": "--group", "transactional": "--transactional-id"}
"""Option of kafka-acls.sh for a resource of the tables of rights."""


def granted(commands: str) -> set[tuple[str, str]]:
    """Returns the options and operations that commands allow."""
    found = set()
    for line in commands.replace("\\\n", " ").splitlines():
        words = line.split()
        options = [each for each in words if each in FLAGS.values()]
        found |= {
            (option, operation)
            for option in options
            for word, operation in pairwise(words)
            if word == "--operation"
        }
    return found


def needed(rows: str) -> set[tuple[str, str]]:
    """Returns the same of the rows of a table; optional rights, and those that come with others,
    are left out."""
    found = set()
    for line in rows.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if not line.startswith("|") or "optional" in line:
            continue
        resource, operations = cells[-3:-1]
        flags = [flag for begin, flag in FLAGS.items() if resource.startswith(begin)]
        flags += ["--group"] if resource.startswith("all groups") else []
        found |= {
            (flag, each)
            for flag in flags
            for each in re.sub(r" \(.*", "", operations).split(", ")
            if (flag, each) != ("--topic", "Describe")
        }
    return found


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("| regional (source) |", "| aggregate (target) |"),
        ("| aggregate (target) |", "Describe comes with Read"),
        ("| topics to be loaded |", "`sluice aggregate accept-loss` needs"),
    ],
)
def test_the_commands_grant_all_rights_of_their_table_and_no_others(begin, end):
    part = PAGE.partition(begin)[2]
    rows = begin + part.partition(end)[0]
    if begin.startswith("| topics"):
        commands = rows
    else:
        role = "# each regional cluster" if "regional" in begin else "# each aggregate cluster"
        commands = re.split(r"\n(?:#|```)", PAGE.partition(role)[2])[0]
    assert needed(rows) == granted(commands)
