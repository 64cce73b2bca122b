"""Output of each command that shows a value: its text and its JSON are those of the stored files.

A case names the functions that a command calls, and the values to call them with. To rewrite the
files after an intended change, run this once with REWRITE_SNAPSHOTS=1, and read the difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from replicator.audit.audit import AuditResult
from replicator.audit.partition_audit import Depth
from replicator.audit.verdict import by_topic
from replicator.groups.planning.failover_plan import encode
from tests.tui.balance_records import NOW_MS
from tests.tui.console.values.times import NOW
from tests.tui.output import balancing, groups, loading, replication
from tests.tui.output.odd import ODD
from tests.tui.output.stored import assert_stored
from tui.commands import (
    aggregate,
    aggregate_losses,
    aggregate_objects,
    aggregate_orders,
    aggregate_status,
    aggregate_store,
    restore,
    upsert_status,
    verify,
)
from tui.commands.accept_loss import losses_text, losses_values
from tui.commands.alerts import list_text
from tui.commands.audit import audit_text, audit_values
from tui.commands.balance import show_remarks, show_text, show_values
from tui.commands.balance_apply import placement_text, placement_values
from tui.commands.balance_partitions import needs_text, needs_values
from tui.commands.balance_plan import plan_text, plan_values
from tui.commands.config import check_text, check_values, mistakes_values
from tui.commands.doctor import exactness_text, exactness_values
from tui.commands.groups import changes_text as primaries_text
from tui.commands.groups import changes_values as primaries_values
from tui.commands.groups import groups_text, remarks
from tui.commands.offsets import copies_text, rebuilt_text, rebuilt_values
from tui.commands.order_text import changes_text, changes_values
from tui.commands.output import emit, plain_values, say
from tui.commands.plan_text import advice, outcome_text, plans_text
from tui.commands.plan_text import plan_text as saved_plan_text
from tui.commands.status import status_text
from tui.commands.stream import list_text as list_streams_text
from tui.commands.topic_rewind import rewind_text, rewind_values
from tui.facts.alert import AlertList
from tui.facts.plan_summary import PlanList
from tui.facts.snapshot import Snapshot

FROZEN = Path(__file__).parent / "tui" / "output" / "frozen"


class Output(NamedTuple):
    """Functions of a command's output, each called with `of`.

    Args:
        text: None where only lines on stderr are frozen.
        values: None for a variant that changes the text alone.
        remarks: lines on stderr; None for a command that says none about its value.
    """

    of: tuple[Any, ...]
    text: Callable[..., str] | None
    values: Callable[..., Any] | None = None
    remarks: Callable[..., Iterable[str]] | None = None

    def show(self, suffix: str) -> None:
        """Prints the output that a file with this suffix holds, as the command does."""
        if suffix == "err" and self.remarks:
            say(*self.remarks(*self.of))
        elif suffix == "json" and self.values:
            emit("json", self.values(*self.of), str)
        elif suffix == "txt" and self.text:
            text = self.text
            emit("table", None, lambda: text(*self.of))

    def suffixes(self) -> list[str]:
        """Returns the suffixes of its files."""
        found = {"txt": self.text, "json": self.values, "err": self.remarks}
        return [suffix for suffix, function in found.items() if function]


def after_first(text: Callable[..., str]) -> Callable[..., str]:
    """Returns a function that leaves out the first value, which the JSON alone has."""
    return lambda _, *of: text(*of)


def variants(name: str, found: dict[str, Any], *functions: Callable[..., Any]) -> dict[str, Output]:
    """Returns a case for each value, named by the command and the key."""
    return {f"{name}{key}": Output((value,), *functions) for key, value in found.items()}


def routes() -> dict[str, Output]:
    status = replication.status()
    whole = replication.appliance("flights", "delays")
    count, read = replication.audit(), replication.audit(Depth.BYTES)
    audited = replication.AUDITED
    audit = audit_text, audit_values, lambda _, found, rows: found.problems
    config = after_first(check_text), check_values
    mistakes = replication.MISTAKES
    rewind = replication.REWOUND
    listed = AlertList(alerts=replication.ALERTS, problems=replication.PROBLEMS)
    alerts = partial(list_text, now=NOW), plain_values
    return {
        "status": Output((status,), status_text, plain_values),
        "status_partitions": Output((status,), partial(status_text, by_partition=True)),
        "status_empty": Output((Snapshot(taken_at=0.0),), status_text, plain_values),
        "alerts_list": Output((listed,), *alerts),
        "alerts_list_none": Output((AlertList(alerts=()),), *alerts),
        "audit": Output((count, audited, by_topic(audited.rows)), *audit),
        "audit_partitions": Output((count, audited, audited.rows), *audit),
        "audit_bytes": Output((read, audited, audited.rows), *audit),
        "audit_nothing": Output((count, AuditResult(()), []), *audit),
        "offsets_show": Output((replication.COPIES,), copies_text, plain_values),
        "offsets_rebuild": Output((replication.READ_BACK,), rebuilt_text, rebuilt_values),
        **variants("accept-loss", replication.LOSSES, losses_text, losses_values),
        "stream_rewind-topic": Output(
            (rewind,),
            partial(rewind_text, is_done=True),
            partial(rewind_values, is_done=True),
        ),
        "stream_rewind-topic_dry": Output(
            (rewind,),
            partial(rewind_text, is_done=False),
            partial(rewind_values, is_done=False),
        ),
        "config_check": Output(("a.toml", whole), *config),
        "config_check_connect": Output(
            ("a.toml", replication.appliance(), replication.SOUND), *config
        ),
        "config_check_away": Output(("a.toml", whole, replication.AWAY), *config),
        "config_check_mistakes": Output((mistakes,), str, mistakes_values),
    }


def balance() -> dict[str, Output]:
    shown = {"": balancing.balance()} | {f"_{k}": v for k, v in balancing.balances().items()}
    now = NOW_MS / 1000
    show = partial(show_text, now=now), show_values, show_remarks
    many = balancing.many_carriers()
    few, all_needs = balancing.needs(), balancing.needs(found=balancing.MANY_NEEDS)
    need = needs_text, needs_values, lambda it: it.remarks()
    changes = (
        after_first(partial(changes_text, nothing="nothing was changed")),
        changes_values,
    )
    streams = partial(list_streams_text, now=now), plain_values
    return {
        **variants("balance_show", shown, *show),
        "balance_show_many": Output((many,), *show),
        "balance_show_carriers": Output((many,), partial(show_text, now=now, all_carriers=True)),
        "balance_partitions": Output((few,), *need),
        "balance_partitions_topic": Output((balancing.needs(ODD),), *need),
        "balance_partitions_many": Output((all_needs,), *need),
        "balance_partitions_all": Output((all_needs,), partial(needs_text, all_partitions=True)),
        **variants("balance_plan", balancing.PLANS, plan_text, plan_values),
        "balance_plan_moves": Output(
            (balancing.PLANS["_many"],), partial(plan_text, all_moves=True)
        ),
        **variants(
            "balance_apply",
            balancing.PLACEMENTS,
            lambda it: placement_text(it, " --config a.toml"),
            placement_values,
        ),
        "orders": Output(
            ("east", balancing.ORDERS, (balancing.HOLD, *balancing.STREAMS)), *changes
        ),
        "orders_of_feeds": Output(("east", balancing.FEED_ORDERS, ()), *changes),
        "orders_unchanged": Output(("east", (), ()), *changes),
        "stream_list": Output((balancing.streams(),), *streams),
        "stream_list_unknown": Output((balancing.streams(is_known=False),), *streams),
    }


def moves() -> dict[str, Output]:
    show = partial(
        saved_plan_text, now_ms=groups.NOW_MS, by_partition=False, config=" --config a.toml"
    )
    parts = partial(saved_plan_text, now_ms=groups.NOW_MS, by_partition=True)
    unsaved = partial(parts, is_saved=False)
    listed = partial(plans_text, now=groups.NOW_MS / 1000), plain_values
    location = groups_text, plain_values
    out = outcome_text
    return {
        "groups_show": Output((groups.LISTED,), *location),
        "groups_show_silent": Output((groups.SILENT,), groups_text),
        "groups_show_unknown": Output((groups.UNKNOWN,), *location),
        "groups_show_none": Output((replace(groups.LISTED, groups=()),), *location),
        "groups_set-primary": Output((groups.CHANGES,), primaries_text, primaries_values),
        "groups_set-primary_unknown": Output((groups.UNKNOWN,), None, None, remarks),
        **variants("failover_show", groups.PLANS, show, lambda plan: json.loads(encode(plan))),
        "failover_show_partitions": Output((groups.PLANS["_switchover"],), parts),
        "failover_show_unsaved": Output((groups.PLAN,), unsaved),
        "failover_list": Output((groups.SAVED,), *listed),
        "failover_list_none": Output((PlanList(plans=()),), *listed),
        **variants(
            "failover_apply",
            groups.OUTCOMES,
            partial(out, by_partition=False),
            lambda outcome: outcome.as_values(),
            advice,
        ),
        "failover_apply_partitions": Output(
            (groups.OUTCOMES["_long"],), partial(out, by_partition=True)
        ),
    }


def feeds() -> dict[str, Output]:
    status = loading.feeds()
    check = aggregate.check_text, aggregate.check_values
    objects = aggregate_objects.objects_text, aggregate_objects.objects_values
    losses = aggregate_losses.losses_text, aggregate_losses.losses_values
    blocks = aggregate_orders.blocks_text, aggregate_orders.blocks_values
    taken = aggregate_store.overwrites_text, aggregate_store.overwrites_values
    exactness = exactness_text, exactness_values
    return {
        "aggregate_status": Output((status,), aggregate_status.status_text, plain_values),
        "aggregate_status_partitions": Output(
            (status,), partial(aggregate_status.status_text, by_partition=True)
        ),
        **variants("aggregate_check", loading.CHECKED_FEEDS, *check),
        **variants("aggregate_objects", loading.LISTINGS, *objects),
        **variants("aggregate_accept-loss", loading.LOSSES, *losses),
        **variants("aggregate_overwrite", loading.OVERWRITES, *taken),
        **variants(
            "aggregate_sweep",
            loading.SWEEPS,
            aggregate_store.sweep_text,
            aggregate_store.sweep_values,
        ),
        **variants(
            "aggregate_forget",
            loading.FORGETTINGS,
            aggregate_store.forgetting_text,
            aggregate_store.forgetting_values,
        ),
        "aggregate_skip-replay": Output((loading.BLOCKS,), *blocks),
        "aggregate_skip-replay_none": Output(((),), *blocks),
        **variants("restore", loading.RESTORES, restore.restore_text, restore.restore_values),
        **variants("verify_check", loading.CHECKS, verify.check_text, verify.check_values),
        **variants("doctor_exactness", loading.DIAGNOSED, *exactness),
    }


def upsert_tables() -> dict[str, Output]:
    status = upsert_status.status_text, plain_values
    return {
        **variants("upsert_status", loading.UPSERT_TABLES, *status),
        "upsert_status_partitions": Output(
            (loading.UPSERT_TABLES[""],), partial(upsert_status.status_text, by_partition=True)
        ),
        **{
            f"upsert_events_{output}": Output((output,), events_text)
            for output in ("table", "json")
        },
    }


def events_text(output: str) -> str:
    return "\n".join(upsert_status.event_lines(loading.ROW_ENDS, output))


CASES = {**routes(), **balance(), **moves(), **feeds(), **upsert_tables()}


FILES = [(name, suffix) for name, found in CASES.items() for suffix in found.suffixes()]


@pytest.mark.parametrize(("name", "suffix"), FILES)
def test_a_command_prints_what_it_printed_before(name, suffix, capsys):
    CASES[name].show(suffix)
    assert_stored("".join(capsys.readouterr()), FROZEN / f"{name}.{suffix}")


def test_each_stored_file_is_of_a_case():
    assert {path.name for path in FROZEN.iterdir()} == {
        f"{name}.{suffix}" for name, suffix in FILES
    }
