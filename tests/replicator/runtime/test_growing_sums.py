"""Sums grow by what each owner counted, once, however often its counts are read."""

from hypothesis import given
from hypothesis import strategies as st

from replicator.runtime.growing_sums import FORGET_SECONDS, GrowingSums


def counts(rows, **more):
    return {"rows": rows, **more}


def growing(*looks):
    """Returns sums that were given these looks, a second apart."""
    found = GrowingSums()
    for at, look in enumerate(looks):
        found.add(look, float(at))
    return found


def test_the_growth_of_each_owner_counts_once():
    look = {"a": counts(15), "b": counts(7)}
    assert growing({"a": counts(10)}, look, look).sums == {"rows": 22}


def test_counts_that_are_only_noted_do_not_count_but_their_growth_does():
    found = GrowingSums()
    found.note({"a": counts(10)}, 0.0)
    assert found.sums == {}
    found.add({"a": counts(13), "b": counts(2)}, 1.0)
    assert found.sums == {"rows": 5}


def test_an_owner_that_ends_takes_nothing_away():
    assert growing({"a": counts(10)}, {"b": counts(1)}).sums == {"rows": 11}


def test_a_count_of_0_has_a_sum():
    assert growing({"a": counts(0)}).sums == {"rows": 0}


def test_a_store_that_was_flushed_and_filled_again_counts_nothing_twice():
    assert growing({"a": counts(10)}, {}, {"a": counts(12)}).sums == {"rows": 12}


def test_counts_that_were_read_before_the_last_ones_count_nothing_twice():
    """Two scrapes may overlap, and a store may come back with what it had minutes ago."""
    looks = [{"a": counts(15, commits=2)}, {"a": counts(10)}, {"a": counts(16, commits=3)}]
    assert growing(*looks).sums == {"rows": 16, "commits": 3}


def test_owners_that_are_long_gone_are_forgotten_and_their_counts_stay():
    found = growing({"a": counts(10)})
    found.add({}, FORGET_SECONDS + 1.0)
    assert found.sums == {"rows": 10}
    # Nothing is known of the owner any more, so all that it counted is new.
    found.add({"a": counts(10)}, FORGET_SECONDS + 2.0)
    assert found.sums == {"rows": 20}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=60))
def test_looks_that_miss_owners_lose_nothing_that_a_later_look_finds(steps):
    found, held, before = GrowingSums(), dict.fromkeys("abc", 0), 0
    for at, (owner, more, is_seen) in enumerate(steps):
        held[owner] += more
        found.add({owner: counts(held[owner])} if is_seen else {}, float(at))
        now = found.sums.get("rows", 0)
        assert now >= before
        before = now
    found.add({name: counts(count) for name, count in held.items()}, float(len(steps)))
    assert found.sums["rows"] == sum(held.values())
