"""Every kind of fault is found, counted, and distinguished from the others."""

import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.lab.compare import Comparison, RouteVerdict, verdict

WEST, EAST = "west>east", "east>east"


def prints(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def interleaved(rng: random.Random, *sequences: list[int]) -> list[int]:
    """Merges the sequences at random; each keeps its own order."""
    left = [list(reversed(sequence)) for sequence in sequences]
    merged = []
    while any(left):
        merged.append(rng.choice([sequence for sequence in left if sequence]).pop())
    return merged


@st.composite
def mirrored(draw, most: int = 40) -> tuple[list[int], list[int], list[int], random.Random]:
    """Two sources of unique records, and a target that holds all of them correctly."""
    rng = draw(st.randoms(use_true_random=False))
    numbers = draw(
        st.lists(
            st.integers(-(2**63), 2**63 - 1).filter(lambda n: n not in (7, 8)),
            unique=True,
            min_size=4,
            max_size=most,
        )
    )
    cut = draw(st.integers(2, len(numbers) - 2))
    west, east = numbers[:cut], numbers[cut:]
    return west, east, interleaved(rng, west, east), rng


def compare(west: list[int], east: list[int], target: list[int]) -> Comparison:
    return verdict({WEST: prints(*west), EAST: prints(*east)}, prints(*target))


@given(mirrored())
def test_a_right_target_is_right_however_its_sources_interleave(case):
    west, east, target, _ = case
    comparison = compare(west, east, target)
    assert comparison.is_right
    assert comparison.routes[WEST] == RouteVerdict(sent=len(west), arrived=len(west))
    assert comparison.routes[EAST] == RouteVerdict(sent=len(east), arrived=len(east))
    assert comparison.examples == ()


@given(mirrored())
def test_lost_records_are_counted_for_their_route_and_nothing_else_is(case):
    west, east, target, rng = case
    lost = set(rng.sample(west, rng.randrange(1, len(west) + 1)))
    comparison = compare(west, east, [n for n in target if n not in lost])
    assert comparison.routes[WEST] == RouteVerdict(
        sent=len(west), arrived=len(west) - len(lost), lost=len(lost)
    )
    assert comparison.routes[EAST].is_right and comparison.foreign == 0


@given(mirrored())
def test_a_repeated_stretch_is_duplicated_and_not_reordered(case):
    west, east, target, rng = case
    begin = rng.randrange(len(target))
    end = rng.randrange(begin, len(target)) + 1
    comparison = compare(west, east, target[:end] + target[begin:])
    assert comparison.total == RouteVerdict(
        sent=len(target), arrived=len(target), duplicated=end - begin
    )
    assert comparison.foreign == 0


@given(mirrored())
def test_one_record_out_of_order_is_one_reordered_record(case):
    west, east, target, rng = case
    moved = rng.choice(west)
    others = [n for n in west if n != moved]
    place = rng.choice([p for p in range(len(west)) if p != west.index(moved)])
    sequence = iter([*others[:place], moved, *others[place:]])
    disordered = [next(sequence) if n in set(west) else n for n in target]
    comparison = compare(west, east, disordered)
    assert comparison.routes[WEST] == RouteVerdict(sent=len(west), arrived=len(west), reordered=1)
    assert comparison.routes[EAST].is_right and comparison.foreign == 0


@given(mirrored())
def test_a_record_with_other_content_in_its_place_is_changed(case):
    west, east, target, rng = case
    changed = rng.choice(west)
    comparison = compare(west, east, [7 if n == changed else n for n in target])
    assert comparison.routes[WEST] == RouteVerdict(sent=len(west), arrived=len(west) - 1, changed=1)
    assert comparison.routes[EAST].is_right and comparison.foreign == 0


def test_several_changed_records_in_a_row_are_all_changed():
    comparison = compare([1, 2, 3, 4], [10, 11], [1, 10, 102, 103, 11, 4])
    assert comparison.routes[WEST] == RouteVerdict(sent=4, arrived=2, changed=2)
    assert comparison.is_right is False


@given(mirrored())
def test_a_record_that_nobody_sent_is_foreign(case):
    west, east, target, rng = case
    place = rng.randrange(len(target) + 1)
    comparison = compare(west, east, [*target[:place], 7, *target[place:]])
    assert comparison.total == RouteVerdict(sent=len(target), arrived=len(target))
    assert comparison.foreign == 1
    assert not comparison.is_right
    assert comparison.examples == (f"foreign: target {place}",)


@given(st.lists(st.integers(0, 3), max_size=20), st.lists(st.integers(0, 3), max_size=20))
def test_counts_add_up_for_any_two_logs(source, target):
    comparison = verdict({WEST: prints(*source)}, prints(*target))
    total = comparison.total
    assert total.arrived + total.lost + total.changed == total.sent == len(source)
    assert total.arrived + total.duplicated + total.changed + comparison.foreign == len(target)
    assert comparison.is_right == (source == target)


def test_equal_records_of_one_source_may_arrive_as_often_as_sent():
    assert compare([1, 1, 2, 1], [], [1, 1, 2, 1]).is_right
    assert compare([1, 1, 2, 1], [], [1, 2, 1]).routes[WEST].lost == 1
    assert compare([1, 1, 2, 1], [], [1, 1, 2, 1, 1]).routes[WEST].duplicated == 1
    assert compare([1, 1, 2, 1], [], [1, 1, 1, 2]).routes[WEST].reordered == 1


def test_equal_records_of_two_sources_are_counted():
    assert compare([1, 5], [5, 2], [5, 1, 5, 2]).is_right
    assert compare([1, 5], [5, 2], [1, 5, 2]).total.lost == 1


def test_examples_are_named_by_the_caller():
    comparison = verdict(
        {WEST: prints(1, 2, 3)},
        prints(1, 3, 3),
        name_source=lambda route, position: f"{route} offset {position + 100}",
        name_target=lambda position: f"offset {position + 200}",
    )
    assert comparison.examples == (f"lost: {WEST} offset 101", "duplicated: offset 202")


def test_partitions_add_up_to_a_topic():
    one = compare([1, 2], [3], [1, 2, 3])
    other = compare([4, 5], [], [4, 9])
    both = one + other
    assert both.routes[WEST] == RouteVerdict(sent=4, arrived=3, changed=1)
    assert both.routes[EAST] == RouteVerdict(sent=1, arrived=1)


@pytest.mark.parametrize("sources", [{}, {WEST: prints()}])
def test_nothing_sent_and_nothing_there_is_right(sources):
    assert verdict(sources, prints()).is_right
    assert verdict(sources, prints(1)).foreign == 1


def test_two_million_records_take_seconds():
    rng = np.random.default_rng(1)
    everything = rng.integers(-(2**63), 2**63 - 1, 2_000_000)
    began_at = time.monotonic()
    comparison = verdict(
        {WEST: everything[::2], EAST: everything[1::2]}, np.delete(everything, 1_000_001)
    )
    assert comparison.routes[EAST].lost == 1
    assert time.monotonic() - began_at < 20
