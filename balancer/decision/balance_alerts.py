"""Alerts of a round: what operators have to know of a route, and the remedies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from balancer.decision.carriers import RoundInputs
from balancer.decision.placement import PartitionShares, Where, loads
from balancer.decision.settings import Limits, Rules
from balancer.decision.state import RoundState, Wanted
from balancer.decision.view import RoundView
from balancer.topic_partition import TopicPartition

ALIKE = 0.5
"""Part of a hot partition's load with which another partition of its topic is about as heavy."""
NAMED_MAX = 5


class AlertName(StrEnum):
    """Kind of an alert; its name in lower case is the label of the metric sluice_balance_alerts."""

    HOT_PARTITION = "hot partition"
    RESIZE = "more carriers needed"
    DEGRADED = "loads not known"
    FROZEN = "frozen"
    EXECUTORS_FEWER = "fewer task slots than carriers"
    LAGGING = "lagging"
    DOUBTED = "rates not believed"
    PIN_IMPOSSIBLE = "pin impossible"
    HOMELESS = "no room"


@dataclass(frozen=True, slots=True)
class RoundAlert:
    """Alert of a round: what needs attention; it lasts as long as the rounds report it.

    Args:
        name: kind of the alert.
        text: description and remedy.
        evidence: numbers that the alert is based on.
    """

    name: AlertName
    text: str
    evidence: Mapping[str, float]


def alerts_of(
    view: RoundView,
    inputs: RoundInputs,
    state: RoundState,
    limits: Limits,
    rules: Rules,
    freeze_reason: str | None,
) -> tuple[RoundAlert, ...]:
    """Returns the alerts of a route after a round.

    Args:
        view: knowledge about the route.
        inputs: inputs of the round.
        state: state that the round leaves.
        limits: limits of the route.
        rules: rules of the route.
        freeze_reason: reason why the route is frozen; None when it is not.
    """
    shares, first = inputs.route.shares, view.first_carrier
    counts = Counter({first + at: n for at, n in Counter(state.where.values()).items()})
    pins = {each: first + at for each, at in inputs.impossible_pins.items()}
    excluded = {first + at: why for at, why in view.orders.excluded.items()}
    given = [
        *degraded(view.degraded),
        *frozen(freeze_reason, state.freeze.seconds(view.now_ms)),
        *executors_fewer(view.slots, len(counts), view.carriers_elsewhere),
        *lagging(state.lag.lagging(rules, view.now_ms), view.lag_seconds),
        *doubted(view.doubts, shares),
        *pins_impossible(pins, excluded),
        *no_room(counts, limits),
    ]
    if view.degraded is None:
        by_carrier = loads(state.where, shares, state.carriers)
        overloaded = {
            first + at: load
            for at, load in by_carrier.items()
            if load > 1 and counts[first + at] > 1
        }
        given += hot_partitions(shares, limits.threshold)
        given += resize(inputs.wanted, overloaded, view.slots, view.carriers_elsewhere)
    return tuple(given)


def hot_partitions(shares: PartitionShares, threshold: float) -> list[RoundAlert]:
    """Returns an alert for each partition above the threshold.

    The evidence is the load of each partition of its topic.
    """
    hot = [each for each, share in shares.items() if share > threshold]
    topics: dict[str, dict[TopicPartition, float]] = {each.topic: {} for each in hot}
    if hot:
        for each, share in shares.items():
            if each.topic in topics:
                topics[each.topic][each] = share
    return [_hot(each, topics[each.topic], threshold) for each in sorted(hot)]


def _hot(
    partition: TopicPartition, topic: Mapping[TopicPartition, float], threshold: float
) -> RoundAlert:
    share, name = topic[partition], partition.topic
    others = sorted(load for each, load in topic.items() if each != partition)
    text = (
        f"{_name(partition)} takes {share:.2f} of a carrier, above {threshold:.2f}, and is "
        f"{share / sum(topic.values()):.0%} of its topic's traffic; "
    )
    if not others:
        text += f"it is the topic's only partition: add partitions to topic {name}"
    elif (middle := median(others)) >= ALIKE * share:
        text += (
            f"of the {len(others)} others half have {middle:.2f} or more, about as much: "
            f"add partitions to topic {name}"
        )
    else:
        heavy = sum(load >= ALIKE * share for load in others)
        text += (
            f"of the {len(others)} others {heavy} have {ALIKE * share:.2f} or more, and half have "
            f"{middle:.2f} at most, much less: its keys are skewed; to add partitions to topic "
            f"{name} helps only if no single key is that heavy"
        )
    evidence = {str(each.partition): load for each, load in sorted(topic.items())}
    return RoundAlert(AlertName.HOT_PARTITION, text, evidence)


def resize(
    wanted: Wanted | None,
    overloaded: Mapping[int, float],
    slots: int | None,
    elsewhere: int = 0,
) -> list[RoundAlert]:
    """Returns an alert when the limits allow too few carriers, or when carriers are overloaded.

    Args:
        wanted: number of carriers; None when loads were never known.
        overloaded: load by carrier, for loads above 1; carriers with one partition are left out.
        slots: number of Spark tasks that can run at once; None when unknown.
        elsewhere: number of carriers of other streams, which run in the same slots.
    """
    texts, evidence = [], {f"carrier {at}": load for at, load in sorted(overloaded.items())}
    if wanted and wanted.lacking:
        mend = "raise carriers_max"
        if slots is not None and slots <= wanted.carriers + elsewhere:
            mend = f"add executors, as there are {slots} task slots; if it is set, {mend} too"
        texts.append(f"{wanted.lacking} more carriers needed: {mend}")
        evidence |= {"needed": wanted.needed, "carriers": wanted.carriers}
    if overloaded:
        heaviest = max(overloaded.values())
        texts.append(
            f"{len(overloaded)} carriers are predicted to carry more than they can, up to "
            f"{heaviest:.2f} of their time"
        )
    return [RoundAlert(AlertName.RESIZE, "; ".join(texts), evidence)] if texts else []


def degraded(why: str | None) -> list[RoundAlert]:
    """Returns an alert when no share can be believed; `why` is None when shares can be."""
    text = f"partitions are placed by count, and only mandatory moves are made: {why}"
    return [RoundAlert(AlertName.DEGRADED, text, {})] if why is not None else []


def frozen(reason: str | None, seconds: float) -> list[RoundAlert]:
    """Returns an alert when the route is frozen, with the reason and for how long."""
    text = f"only mandatory moves are made, and no carrier is removed: {reason}"
    return [RoundAlert(AlertName.FROZEN, text, {"seconds": seconds})] if reason else []


def executors_fewer(slots: int | None, carrying: int, elsewhere: int = 0) -> list[RoundAlert]:
    """Returns an alert when carriers have to share task slots.

    Args:
        slots: number of Spark tasks that can run at once; None when unknown.
        carrying: number of carriers with partitions.
        elsewhere: number of carriers of other streams, which run in the same slots.
    """
    if slots is None or slots >= carrying + elsewhere:
        return []
    others = f", and {elsewhere} of other streams," if elsewhere else ""
    text = f"{carrying} carriers{others} share {slots} task slots: add executors, or lower "
    text += "carriers_max of some" if elsewhere else f"carriers_max to {slots}"
    evidence = {"slots": slots, "carriers": carrying, "carriers elsewhere": elsewhere}
    return [RoundAlert(AlertName.EXECUTORS_FEWER, text, evidence)]


def lagging(
    partitions: Collection[TopicPartition], lag_seconds: Mapping[TopicPartition, float]
) -> list[RoundAlert]:
    """Returns an alert when partitions have been behind for long."""
    # The lag of a partition is unknown for a moment while it changes carriers.
    evidence = {_name(each): lag_seconds[each] for each in partitions if each in lag_seconds}
    if not evidence:
        return []
    text = (
        f"{len(partitions)} partitions are behind, by up to {max(evidence.values()):.0f} s: "
        f"{_names(partitions)}"
    )
    return [RoundAlert(AlertName.LAGGING, text, evidence)]


def doubted(doubts: Mapping[TopicPartition, str], shares: PartitionShares) -> list[RoundAlert]:
    """Returns an alert when rates were not believed."""
    if not doubts:
        return []
    first = min(doubts)
    text = (
        f"rates of {len(doubts)} partitions were not believed; the former rates count: "
        f"{_names(doubts)}; {_name(first)}: {doubts[first]}"
    )
    evidence = {_name(each): shares[each] for each in sorted(doubts) if each in shares}
    return [RoundAlert(AlertName.DOUBTED, text, evidence)]


def pins_impossible(pins: Where, excluded: Mapping[int, str]) -> list[RoundAlert]:
    """Returns an alert when partitions are pinned to carriers that the route does not have."""
    if not pins:
        return []
    of_carriers: dict[int, list[TopicPartition]] = {}
    for partition, carrier in pins.items():
        of_carriers.setdefault(carrier, []).append(partition)
    texts = []
    for carrier, partitions in sorted(of_carriers.items()):
        if carrier in excluded:
            why = f"carrier {carrier} is excluded ({excluded[carrier]})"
        else:
            why = f"there is no carrier {carrier}"
        texts.append(f"{_names(partitions)}: {why}")
    text = f"pins are not obeyed until they can be: {'; '.join(texts)}"
    evidence = {_name(each): float(at) for each, at in sorted(pins.items())}
    return [RoundAlert(AlertName.PIN_IMPOSSIBLE, text, evidence)]


def no_room(counts: Mapping[int, int], limits: Limits) -> list[RoundAlert]:
    """Returns an alert when carriers hold more partitions than they may, as no other has room."""
    most, setting = limits.partitions_max, limits.room_setting
    full = {f"carrier {at}": n for at, n in sorted(counts.items()) if n > most}
    if not full:
        return []
    surplus = sum(full.values()) - len(full) * most
    text = (
        f"{surplus} partitions are on carriers that already hold {most}, the most that {setting} "
        f"allows: raise carriers_max or {setting}"
    )
    return [RoundAlert(AlertName.HOMELESS, text, full)]


def _name(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"


def _names(partitions: Collection[TopicPartition]) -> str:
    names = [_name(each) for each in sorted(partitions)[:NAMED_MAX]]
    more = len(partitions) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
