"""Random rounds: views of a route that a balancer may have, with limits and rules."""

from hypothesis import strategies as st

from balancer.decision.placement import Scope
from balancer.decision.round import Orders, RoundState
from balancer.decision.settings import Limits, Rules
from balancer.topic_partition import TopicPartition
from tests.balancer.decision.routes import MINUTE_MS, NOON_MS, seen

PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b", "c"]), st.integers(0, 9))
SHARES = st.dictionaries(PARTITIONS, st.floats(0, 1.3), max_size=25)
# Made once: a strategy that is made for each draw takes longer than the draw.
CARRIERS = st.integers(0, 6)
CARRIER_SETS = st.frozensets(CARRIERS)
CARRIERS_SOME = st.frozensets(CARRIERS, min_size=1)
SOME = st.frozensets(PARTITIONS, max_size=20)
LAGS = st.dictionaries(PARTITIONS, st.floats(0, 99), max_size=4)
PINS = st.dictionaries(PARTITIONS, CARRIERS, max_size=3)
EXCLUDED = st.dictionaries(CARRIERS, st.just("a bad disk"), max_size=2)
BY_HAND = st.none() | st.sampled_from(Scope)
MOVED_AT = st.none() | st.just(NOON_MS - MINUTE_MS)
SLOTS = st.none() | st.integers(0, 9)
DEGRADED = st.none() | st.just("no rates")
PARTITIONS_MAX = st.sampled_from([2, 1000])
OFF_PEAK = st.sampled_from(["", "11:00-13:00"])


@st.composite
def views(draw):
    shares, before = draw(SHARES), draw(SHARES)
    carriers = tuple(sorted(draw(CARRIERS_SOME)))
    carrier = st.sampled_from(carriers)
    state = RoundState(
        {each: draw(carrier) for each in sorted(before)},
        carriers,
        draw(st.integers(1, 5)),
        moved_at_ms=draw(MOVED_AT),
        drifting_rounds=draw(st.integers(0, 3)),
    )
    return seen(
        shares,
        state=state if draw(st.booleans()) else None,
        measured=draw(SOME),
        lag_seconds=draw(LAGS),
        orders=Orders(
            pins=draw(PINS),
            excluded=draw(EXCLUDED),
            paused=draw(st.booleans()),
            by_hand=draw(BY_HAND),
        ),
        slots=draw(SLOTS),
        silent=draw(CARRIER_SETS),
        degraded=draw(DEGRADED),
        withdrawn=draw(SOME),
    )


@st.composite
def limits_and_rules(draw):
    carriers_min = draw(st.integers(1, 3))
    limits = Limits(
        carriers_min=carriers_min,
        carriers_max=carriers_min + draw(st.integers(0, 5)),
        partitions_max=draw(PARTITIONS_MAX),
        calm_rounds=draw(st.integers(0, 2)),
    )
    off_peak = draw(OFF_PEAK)
    return limits, Rules(moves_max=draw(st.integers(1, 5)), off_peak=off_peak)
