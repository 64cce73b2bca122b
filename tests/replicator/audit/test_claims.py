"""Claims are cut and translated record by record, whatever the runs are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replicator.audit.claims import Claims, Piece, pieces, size, spans_of
from replicator.mirror.offset_map.run_segment import Run
from replicator.mirror.offset_map.spans import Span
from tests.replicator.audit.offset_sets import offsets
from tests.replicator.mirror.offset_map.told_logs import alone, learned

RUNS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 5)), max_size=8)
OFFSETS = st.integers(0, 60)


def claims(gaps: list[tuple[int, int, int]]) -> Claims:
    """Returns runs, given by the gaps before them on either side."""
    source = target = 0
    runs = []
    for source_gap, target_gap, count in gaps:
        source, target = source + source_gap, target + target_gap
        runs.append((source, target, count))
        source, target = source + count, target + count
    columns = (np.array(runs, dtype=np.int64).reshape(-1, 3)).T
    return Claims(*columns)


def pairs(some: Claims) -> set[tuple[int, int]]:
    """Returns every claimed record: its offset at the source, and in the target."""
    rows = zip(some.sources.tolist(), some.targets.tolist(), some.counts.tolist(), strict=True)
    return {(source + n, target + n) for source, target, count in rows for n in range(count)}


@given(RUNS, OFFSETS, OFFSETS)
def test_a_cut_keeps_exactly_the_records_within(gaps, begin, end) -> None:
    whole = claims(gaps)
    assert pairs(whole.between(begin, end)) == {p for p in pairs(whole) if begin <= p[0] < end}
    assert pairs(whole.landing(begin, end)) == {p for p in pairs(whole) if begin <= p[1] < end}
    assert whole.records == len(pairs(whole))


@given(RUNS, st.sets(OFFSETS))
def test_a_record_has_landed_if_its_claimed_target_offset_has_one(gaps, there) -> None:
    whole = claims(gaps)
    found = np.array(sorted(there), dtype=np.int64)
    landed = whole.landed(spans_of(found, found + 1))
    assert offsets(landed) == {source for source, target in pairs(whole) if target in there}
    assert size(landed) == len(offsets(landed))


@given(RUNS)
def test_every_claimed_target_offset_has_its_source_offset_and_no_other_has_one(gaps) -> None:
    whole = claims(gaps)
    back = {target: source for source, target in pairs(whole)}
    targets = np.arange(80)
    assert whole.sources_at(targets).tolist() == [back.get(at, -1) for at in targets.tolist()]
    assert offsets(whole.source_spans()) == set(back.values())
    assert offsets(whole.target_spans()) == set(back)


@given(RUNS, RUNS, st.integers(1, 12))
def test_pieces_have_every_source_offset_once_together_with_its_target_offset(
    one, other, most
) -> None:
    asked = {"west": Span(0, 70), "east": Span(5, 40)}
    claimed = {
        route: claims(gaps).between(*asked[route])
        for route, gaps in {"west": one, "east": other}.items()
    }
    made = list(pieces(asked, claimed, most))
    assert all(piece.target.end - piece.target.begin <= most for piece in made)
    for route, span in asked.items():
        spans = [piece.sources[route] for piece in made]
        assert [spans[0].begin, *(s.end for s in spans)] == [*(s.begin for s in spans), span.end]
        assert spans[0].begin == span.begin
        for piece in made:
            begin, end = piece.sources[route]
            for source, target in pairs(claimed[route]):
                if begin <= source < end:
                    assert piece.target.begin <= target < piece.target.end


def test_without_claims_the_source_is_still_read() -> None:
    nothing = claims([])
    made = list(pieces({"west": Span(3, 9)}, {"west": nothing}, 5))
    assert made == [Piece(Span(0, 0), {"west": Span(3, 9)})]
    assert nothing.sources_at(np.array([4])).tolist() == [-1]
    assert nothing.first_landing(0) is None


def test_a_maps_runs_are_its_claims() -> None:
    runs = learned(map(alone, (Run(5, 0, 3), Run(10, 7, 2))))
    assert pairs(Claims.of(runs)) == {(5, 0), (6, 1), (7, 2), (10, 7), (11, 8)}
