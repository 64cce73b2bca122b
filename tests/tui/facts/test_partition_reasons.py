"""Reasons of a partition's state, in the words that an operator reads."""

from dataclasses import replace

import pytest

from replicator.mirror.ledger.entry import Custody
from replicator.notices.condition import Condition
from tests.tui.facts.route_records import (
    ENTRY,
    FACTS,
    LOSS,
    NOW,
    PARTITION,
    REPORT,
    ROUTE,
    condition,
)
from tui.facts.health import FINE, Health, Judged
from tui.facts.partition_progress import progress_of
from tui.facts.partition_reasons import judged
from tui.facts.route_conditions import route_conditions
from tui.facts.route_facts import Loads, Past
from tui.facts.route_view import SilentCarrier

OLD = replace(REPORT, at=NOW - 18, host="repl-c")


def judge(*conditions: Condition, parked: str | None = None, **changes: object) -> Judged:
    return judgement(*conditions, parked=parked, **changes)[0]


def judgement(
    *conditions: Condition, parked: str | None = None, **changes: object
) -> tuple[Judged, SilentCarrier | None]:
    facts = replace(FACTS, **changes)
    progress = progress_of(PARTITION, facts, NOW)
    found = route_conditions(ROUTE, conditions, NOW)
    return judged(PARTITION, progress, parked, facts, found, NOW)


def test_a_partition_with_a_little_lag_is_ok() -> None:
    assert judge() == FINE


def test_a_parked_partition_comes_with_the_command_that_lets_it_go_on() -> None:
    state, why = judge(parked=str(LOSS))
    assert state is Health.PARKED
    assert why == (
        "parked: source retention passed the reader: source offsets [70, 80); `sluice accept-loss "
        "--route 'west>east' --topic orders --partition 0`"
    )


def test_an_entry_that_cannot_be_read_has_no_command() -> None:
    assert judge(parked="version 9", unreadable={PARTITION: "version 9"}) == (
        Health.PARKED,
        "version 9",
    )


def test_a_carrier_that_stopped_is_named_with_its_host_and_its_silence() -> None:
    text = "carrier 5 on repl-c has said nothing for 18 s"
    assert judge(reports={PARTITION: OLD}) == (Health.UNKNOWN, text)
    # Its reports have expired, and are remembered.
    assert judge(reports={}, past=Past(heard={PARTITION: OLD})) == (Health.UNKNOWN, text)


def test_lag_that_no_carrier_reports_on_is_unknown() -> None:
    assert judge(reports={}) == (Health.UNKNOWN, "no carrier reports on it")


def test_a_quiet_partition_needs_no_carriers_word() -> None:
    assert judge(reports={}, source_ends={PARTITION: 70}) == FINE


def test_without_redis_the_ledger_tells() -> None:
    assert judge(reports=None) == FINE


def test_a_silent_redis_is_named_and_not_the_carriers_whose_reports_it_has() -> None:
    silence = "east Redis: connection refused, since 14:02:10Z"
    silent = {"silence_of_reports": silence}
    assert judge(reports={PARTITION: OLD}, **silent) == (Health.UNKNOWN, silence)
    remembered = Past(heard={PARTITION: OLD})
    assert judge(reports=None, past=remembered, **silent) == (Health.UNKNOWN, silence)
    # A report of a moment ago counts, and what has everything needs no report.
    assert judge(**silent) == FINE
    assert judge(reports=None, source_ends={PARTITION: 70}, **silent) == FINE


def test_a_silent_source_is_told_unless_the_carrier_sees_it() -> None:
    silence = "west regional: no answer, since 14:02:10Z"
    assert judge(silence_of_ends=silence) == FINE
    blind = {PARTITION: replace(REPORT, lag_seconds=None)}
    assert judge(silence_of_ends=silence, reports=blind) == (Health.UNKNOWN, silence)


def test_a_silent_target_is_told_where_no_carrier_reports() -> None:
    silence = "east aggregate: no answer"
    assert judge(silence_of_entries=silence) == FINE
    assert judge(silence_of_entries=silence, reports=None, entries=None) == (
        Health.UNKNOWN,
        silence,
    )


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({}, "not carried yet: it has no ledger entry"),
        ({PARTITION: replace(ENTRY, custody=Custody.VIRGIN)}, "not carried yet"),
    ],
)
def test_a_partition_that_was_never_carried_says_so(entries: object, why: str) -> None:
    assert judge(entries=entries, reports={}) == (Health.UNKNOWN, why)


def test_a_partition_that_the_source_does_not_list_is_unknown() -> None:
    assert judge(source_ends={}, reports={}) == (
        Health.UNKNOWN,
        "the source does not name its end",
    )


def test_no_progress_for_half_a_minute_is_a_stall() -> None:
    still = Past(still={PARTITION: (90, NOW - 45)})
    assert judge(past=still) == (Health.STALLED, "no progress for 45 s")
    moved_since = Past(still={PARTITION: (80, NOW - 45)})
    assert judge(past=moved_since) == FINE


def test_a_partition_that_is_behind_names_its_carrier_and_the_balancers_advice() -> None:
    slow = {PARTITION: replace(REPORT, lag_seconds=12.3)}
    loads = Loads({5: 0.97}, {"orders-0": "orders-0 takes 0.84 of a carrier: add partitions"})
    assert judge(reports=slow, lag_seconds_max=10.0, loads=loads) == (
        Health.BEHIND,
        "12 s behind: carrier 5 has 0.97 of its time; orders-0 takes 0.84 of a carrier: add "
        "partitions",
    )


def test_a_carrier_with_time_to_spare_is_no_cause() -> None:
    slow = {PARTITION: replace(REPORT, lag_seconds=12.3)}
    assert judge(reports=slow, lag_seconds_max=10.0, loads=Loads({5: 0.3})) == (
        Health.BEHIND,
        "12 s behind: the cause is not known",
    )


def test_a_pause_explains_lag() -> None:
    paused = condition("paused", "paused by alice: test", route="west>east", topic="orders")
    assert judge(paused, reports={}) == (
        Health.PAUSED,
        "paused by alice: test, since 00:15:40Z, topic",
    )


def test_a_condition_about_the_last_carrier_explains_silence() -> None:
    who = "carrier 5 of west>east"
    one = condition("carrier-waits", "no answer", who, route="west>east", carrier=5)
    state, why = judge(one, reports={}, past=Past(heard={PARTITION: OLD}))
    assert (state, why) == (
        Health.WAITS,
        "carrier 5 of west>east waits: no answer, since 00:15:40Z",
    )


def silent_of(*conditions: Condition, **changes: object) -> SilentCarrier | None:
    return judgement(*conditions, **changes)[1]


def test_a_reason_that_is_a_carriers_silence_comes_with_the_carrier() -> None:
    found = silent_of(reports={PARTITION: OLD})
    assert found == SilentCarrier(number=5, host="repl-c", heard_at=NOW - 18)
    assert found.name == "carrier 5 on repl-c"
    assert SilentCarrier(number=5, host="").name == "carrier 5"
    assert silent_of(reports={}) == SilentCarrier()


def test_another_reason_names_no_carrier_as_silent() -> None:
    paused = condition("paused", "paused by alice: test", route="west>east", topic="orders")
    assert silent_of() is None
    assert silent_of(paused, reports={PARTITION: OLD}) is None
    assert silent_of(reports={PARTITION: OLD}, silence_of_reports="east Redis: refused") is None
