"""Output of `sluice balance partitions`: each partition's load, and what it is derived from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from balancer.demand.demand import Basis
from replicator.placement.rounds.partition_need import PartitionNeed
from replicator.placement.rounds.preview import Preview
from tui.commands.text import NONE, decimals, table
from tui.commands.views.order_view import SCHEMA_VERSION
from tui.pages.balance_actions import stream_label

SHOWN_MAX = 40
HEADS = ("TOPIC", "PARTITION", "CARRIER", "LOAD", "BYTES/S", "RECORDS/S", "LAG", "KNOWN BY")
BASIS_TEXTS = {
    Basis.MEASURED: "its log",
    Basis.FILE: "throughput_file",
    Basis.TOPIC: "its topic's mean",
    Basis.DEFAULT: "nothing: a default",
}


@dataclass(frozen=True, slots=True)
class Needs:
    """Loads of one region's partitions, for output.

    Args:
        topic: topic whose partitions are shown; None for all.
    """

    region: str
    previews: tuple[Preview, ...]
    topic: str | None = None

    def of(self, preview: Preview) -> list[PartitionNeed]:
        """Returns the partitions of a stream to show, heaviest first."""
        return [it for it in preview.needs if self.topic in (None, it.partition.topic)]

    def remarks(self) -> list[str]:
        """Returns a line for each stream whose loads are not known, with the reason.

        The balancer does not act upon the loads of such a stream.
        """
        return [
            f"{_label(each)}: loads are not known: {each.outcome.status.degraded}"
            for each in self.previews
            if each.outcome.status.degraded
        ]


def as_values(needs: Needs) -> dict[str, Any]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": needs.region,
        "streams": [
            {
                "route": preview.route.name,
                "stream": preview.stream,
                "generation": preview.carried_generation,
                "placed_generation": preview.generation,
                "degraded": preview.outcome.status.degraded,
                "partitions": [_values(it) for it in needs.of(preview)],
            }
            for preview in needs.previews
        ],
    }


def as_text(needs: Needs, *, all_partitions: bool = False) -> str:
    """Formats the loads for people, stream by stream.

    At most the SHOWN_MAX heaviest partitions of a stream are listed, unless `all_partitions`.
    """
    shown_max = None if all_partitions else SHOWN_MAX
    return "\n\n".join(_text(each, needs.of(each), shown_max) for each in needs.previews)


def _values(need: PartitionNeed) -> dict[str, Any]:
    return {
        "topic": need.partition.topic,
        "partition": need.partition.partition,
        "carrier": need.carrier,
        "load": need.share,
        "basis": need.basis.value,
        "looked_at_lately": need.is_fresh,
        "expected_bytes_per_second": need.rate.bytes_per_second if need.rate else None,
        "expected_records_per_second": need.rate.records_per_second if need.rate else None,
        "lag_records": need.lag_records,
        "lag_seconds": need.lag_seconds,
    }


def _text(preview: Preview, needs: Sequence[PartitionNeed], shown_max: int | None) -> str:
    generation = f"generation {preview.carried_generation}"
    if preview.carried_generation < preview.generation:
        generation += f"; the driver is yet to follow {preview.generation}"
    lines = [f"{_label(preview)}: {len(needs)} partitions, {generation}"]
    if needs:
        lines += ["", table(HEADS, [_row(it) for it in needs[:shown_max]])]
    if shown_max is not None and len(needs) > shown_max:
        lines.append(f"{shown_max} of {len(needs)}, the heaviest; --all shows all of them")
    return "\n".join(lines)


def _row(need: PartitionNeed) -> tuple[Any, ...]:
    rate = need.rate
    return (
        need.partition.topic,
        need.partition.partition,
        NONE if need.carrier is None else need.carrier,
        decimals(need.share),
        rate and round(rate.bytes_per_second),
        rate and round(rate.records_per_second),
        need.lag_records,
        BASIS_TEXTS[need.basis] + ("" if _is_recent(need) else ", not lately"),
    )


def _label(preview: Preview) -> str:
    return stream_label(preview.route.name, preview.stream)


def _is_recent(need: PartitionNeed) -> bool:
    return need.is_fresh or need.basis is not Basis.MEASURED
