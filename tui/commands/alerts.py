"""sluice alerts: alerts of the appliance, and who has seen them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from replicator.runtime.plain_text import one_line
from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    checked_duration,
    config_option,
    output_option,
    reason_option,
    timeout_option,
)
from tui.commands.output import emit, plain_values

if TYPE_CHECKING:
    from replicator.config.topology import Region
    from replicator.notices.acknowledgement import Acknowledgement
    from replicator.notices.acknowledgement_store import AcknowledgementStore
    from tui.facts.alert import AlertList

LIST_TITLES = ("LEVEL", "STATE", "SINCE", "FOR", "REGION", "KEY", "ALERT")
REDIS_SECONDS = 5.0
KEY_CHARACTERS_MAX = 1000
SCHEMA_VERSION = 2
"""Schema version of the results of `acknowledge`, `silence` and `reopen`."""


def checked_key(_: click.Context | None, __: click.Parameter | None, key: str) -> str:
    """Returns KEY. Raises click.UsageError for a text that no alert can have as its key."""
    from tui.facts.alert import KEY_BEGINNINGS

    kind, slash, rest = key.partition("/")
    if kind not in KEY_BEGINNINGS or not slash or not rest or len(key) > KEY_CHARACTERS_MAX:
        known = ", ".join(f"{each}/" for each in KEY_BEGINNINGS)
        raise click.UsageError(f"{key!r} is no key of an alert; keys begin with {known}")
    return key


key_argument = click.argument("key", callback=checked_key)
region_option = click.option(
    "--region",
    required=True,
    metavar="REGION",
    help="Region whose Redis keeps it, as `sluice alerts list` shows.",
)
length_option = click.option(
    "--for",
    "duration",
    required=True,
    metavar="DURATION",
    callback=checked_duration,
    help="Time for which the alert is silent: 90s, 30m, 2h, 7d.",
)


@click.group()
def alerts() -> None:
    """Show what an operator should look at, and note who has seen it.

    An acknowledgement holds until its alert ends, at most a week, and 8 hours where nothing tells
    when the alert began; a silence until a time. Both are in a region's Redis: after a flush the
    alerts are open again.
    """


@alerts.command("list")
@config_option
@click.option("--region", metavar="REGION", help="Only alerts that this region's Redis keeps.")
@timeout_option(5.0)
@output_option
def list_alerts(config: str, region: str | None, timeout: float, output: str) -> int:
    """Show all alerts, worst first, with the keys that the other commands take.

    All servers of the appliance are asked. Exits with 3 when one could not be reached; everything
    that is known is shown all the same.
    """
    from replicator.config.topology import load
    from tui.facts.alert import AlertList
    from tui.facts.watch.inventory import whole_inventory

    appliance = load(config)
    if region is not None:
        appliance.region(region)
    snapshot = whole_inventory(appliance, timeout).snapshot(timeout)
    shown = tuple(each for each in snapshot.alerts or () if region in (None, each.region))
    found = AlertList(alerts=shown, problems=snapshot.problems)
    emit(output, found, lambda: list_text(found, snapshot.taken_at))
    return ExitCode.UNREACHABLE if found.problems else ExitCode.DONE


def list_text(found: AlertList, now: float) -> str:
    """Formats alerts as a table, with who acknowledged them and the problems below."""
    from tui.commands.text import page_text
    from tui.pages.alerts import alert_notes, alerts_section

    notes = [f"{alert.key}: {note}" for alert in found.alerts for note in alert_notes(alert)]
    problems = [f"problem: {text}" for text in found.problems]
    return page_text([alerts_section(found.alerts, now).only(LIST_TITLES)], [*notes, *problems])


@alerts.command()
@key_argument
@config_option
@region_option
@click.option(
    "--extent",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Number of groups or partitions that the alert tells; it is open again beyond.",
)
@reason_option
@timeout_option(REDIS_SECONDS)
@output_option
def acknowledge(
    key: str,
    config: str,
    region: str,
    extent: int | None,
    reason: str,
    timeout: float,
    output: str,
) -> int:
    """Note that the alert KEY is known, and why it may stay for now.

    It is open again when it gets worse, such as by one more parked partition, or when it returns
    after its end. When nothing tells how long it lasts, as of a daemon that is missing, it is open
    again after 8 hours. Exits with 3, and changes nothing, when the region's Redis does not answer.
    """
    return noted(_acknowledging(config, region, timeout), key, reason, output, extent=extent)


@alerts.command()
@key_argument
@config_option
@region_option
@reason_option
@length_option
@timeout_option(REDIS_SECONDS)
@output_option
def silence(
    key: str,
    config: str,
    region: str,
    reason: str,
    duration: str,
    timeout: float,
    output: str,
) -> int:
    """Keep the alert KEY silent for a time, whatever happens to it.

    Exits with 3, and changes nothing, when the region's Redis does not answer.
    """
    return noted(_acknowledging(config, region, timeout), key, reason, output, duration=duration)


@alerts.command()
@key_argument
@config_option
@region_option
@timeout_option(REDIS_SECONDS)
@output_option
def reopen(key: str, config: str, region: str, timeout: float, output: str) -> int:
    """Take `acknowledge` or `silence` of the alert KEY back.

    Exits with 3, and changes nothing, when the region's Redis does not answer.
    """
    return reopened(_acknowledging(config, region, timeout), key, output)


@dataclass(frozen=True, slots=True)
class Acknowledging:
    """Acknowledging in one region's Redis. Blocking.

    Args:
        who: the operator, as user@host.
    """

    region: Region
    who: str
    timeout_seconds: float

    def put(
        self,
        key: str,
        why: str,
        now_ms: int,
        until_ms: int | None = None,
        extent: int | None = None,
    ) -> Acknowledgement:
        """Acknowledges an alert, or silences it until a time. Raises StoreUnreachable.

        Args:
            extent: the alert's, up to which it is acknowledged.
        """
        from replicator.notices.acknowledgement import Acknowledgement
        from tui.orders.operator_events import note_event

        given = Acknowledgement(
            key=key, who=self.who, why=why, at_ms=now_ms, until_ms=until_ms, extent=extent
        )
        with self._store() as store:
            store.put(given)
        result = "acknowledged" if until_ms is None else "silenced"
        note_event(self.region, "alert", self.who, f"{key}: {why}", result)
        return given

    def withdraw(self, key: str) -> bool:
        """Opens an alert again; returns False if nobody had acknowledged or silenced it.

        Raises StoreUnreachable.
        """
        from tui.orders.operator_events import note_event

        with self._store() as store:
            is_withdrawn = store.withdraw(key)
        if is_withdrawn:
            note_event(self.region, "alert", self.who, key, "reopened")
        return is_withdrawn

    def _store(self) -> AcknowledgementStore:
        from replicator.notices.acknowledgement_store import AcknowledgementStore

        return AcknowledgementStore(
            self.region.redis_url(), self.region.name, timeout_seconds=self.timeout_seconds
        )


def reopened(acknowledging: Acknowledging, key: str, output: str) -> int:
    """Withdraws the acknowledgement of an alert, and prints what was done."""
    is_withdrawn = acknowledging.withdraw(key)
    values = {
        "schema_version": SCHEMA_VERSION,
        "region": acknowledging.region.name,
        "key": key,
        "reopened": is_withdrawn,
    }
    done, nothing = f"open again: {key}", f"nobody had acknowledged or silenced {key}"
    text = done if is_withdrawn else f"{nothing}: nothing was changed"
    emit(output, values, lambda: one_line(text))
    return ExitCode.DONE


def noted(
    acknowledging: Acknowledging,
    key: str,
    reason: str,
    output: str,
    *,
    duration: str | None = None,
    extent: int | None = None,
) -> int:
    """Acknowledges an alert, or silences it for a duration, and prints what was done."""
    from tui.commands.text import instant
    from tui.orders.durations import until_ms

    now_ms = time.time_ns() // 1_000_000
    given = acknowledging.put(key, reason, now_ms, until_ms(duration, now_ms), extent)
    values = {
        "schema_version": SCHEMA_VERSION,
        "region": acknowledging.region.name,
        **plain_values(given),
    }
    until = instant(given.until_ms)
    how_long = "acknowledged until it ends" if until is None else f"silenced until {until}"
    emit(output, values, lambda: one_line(f"{how_long}: {given.key}"))
    return ExitCode.DONE


def _acknowledging(config: str, region: str, timeout: float) -> Acknowledging:
    from replicator.config.topology import load
    from tui.orders.operator_events import operator

    return Acknowledging(load(config).region(region), operator(), timeout)
