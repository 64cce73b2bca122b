"""Courses of a mirrored route: the faults of each family of histories."""

from __future__ import annotations

from collections.abc import Mapping

from tests.world.mirror.scene import Course

COURSES: Mapping[str, Course] = {
    "mirror": Course(),
    "streams": Course(
        topics=("clicks", "orders", "payments"),
        partitions=1,
        seconds=45.0,
        fault_seconds=1.0,
        has_streams=True,
    ),
    "balance": Course(
        topics=("clicks", "orders"),
        partitions=2,
        seconds=45.0,
        fault_seconds=1.0,
        has_streams=True,
        has_balancers=True,
    ),
    "losses": Course(loses=True),
    "acceptances": Course(
        loses=True,
        accepts=True,
        only=(
            "unclean election",
            "delete what is not carried",
            "delete a tail",
            "recreate a topic",
            "forget transactional ids",
            "kill a carrier",
            "kill a broker",
            "cut connections",
            "new epoch",
        ),
    ),
    "compaction": Course(
        fault_seconds=1.0,
        only=(
            "compact what is not carried",
            "kill a carrier",
            "kill a broker",
            "preferred election",
            "replicas fall behind",
            "slow lines",
            "new epoch",
        ),
    ),
    "gaps": Course(
        seconds=30.0,
        fault_seconds=4.0,
        only=("compact a backlog", "kill a carrier", "new epoch"),
    ),
    "ledgers": Course(
        fault_seconds=4.0,
        loses=True,
        only=("forget an entry", "turn back to a former entry", "kill a carrier", "new epoch"),
        forgets=False,
    ),
    "tails": Course(
        fault_seconds=4.0,
        loses=True,
        only=("delete tails as carriers die", "new epoch"),
        forgets=False,
    ),
    "fences": Course(
        topics=("clicks", "orders"),
        partitions=1,
        seconds=80.0,
        fault_seconds=4.0,
        only=("overtake a balancer as it opens its producer", "shift the load"),
        has_balancers=True,
    ),
    "zombies": Course(
        seconds=90.0,
        fault_seconds=4.0,
        only=("wake carriers while coordinators load", "new epoch"),
        forgets=True,
        has_gaps=False,
    ),
    "ids": Course(
        seconds=90.0,
        fault_seconds=4.0,
        loses=True,
        only=("forget the ids of stopped carriers", "new epoch"),
        forgets=False,
        has_gaps=False,
    ),
    "expiry": Course(
        fault_seconds=1.0,
        only=(
            "forget producers that are not answered",
            "in-sync sets flicker as carriers begin",
            "kill a carrier",
            "slow lines",
        ),
        forgets=True,
        old_shares=(0.0, 0.5),
        has_gaps=False,
    ),
    "elections": Course(
        seconds=40.0,
        fault_seconds=1.0,
        only=("elect leaders under batches", "new epoch", "kill a carrier"),
        forgets=True,
        old_shares=(0.0, 0.5),
        has_gaps=False,
    ),
    "releases": Course(
        seconds=45.0,
        only=("stop carriers as they release", "resume amid a rewind"),
    ),
    "epochs": Course(
        seconds=45.0,
        fault_seconds=1.0,
        only=("use epochs up", "kill a carrier", "kill carriers while they take over", "new epoch"),
        has_gaps=False,
    ),
    "overtaken": Course(
        seconds=40.0,
        fault_seconds=2.0,
        loses=True,
        only=("forget producers amid a window", "new epoch"),
        forgets=False,
        old_shares=(1.0,),
        has_gaps=False,
    ),
    "times": Course(
        seconds=30.0,
        fault_seconds=4.0,
        loses=True,
        only=("stamp append times", "kill a carrier", "new epoch", "answers get lost"),
        forgets=False,
    ),
    "refusals": Course(
        seconds=40.0,
        loses=True,
        accepts=True,
        only=("require keys", "kill a carrier", "new epoch"),
        keyless_share=0.1,
    ),
    "mirror_clocks": Course(
        partitions=2,
        seconds=30.0,
        fault_seconds=0.4,
        only=(
            "forget producers that are not answered",
            "set clocks",
            "kill a carrier",
        ),
        forgets=True,
        old_shares=(0.5,),
        old_seconds=16.0,
        epoch_seconds=4.0,
        clock_seconds=5.0,
        has_gaps=False,
    ),
    "mirror_configs": Course(
        partitions=1,
        carriers=1,
        seconds=60.0,
        fault_seconds=0.5,
        only=("change a topic's configs", "kill a carrier", "preferred election"),
        forgets=False,
        old_shares=(0.0,),
        keyless_share=0.1,
        has_configs=True,
    ),
    "source_restores": Course(
        seconds=40.0,
        fault_seconds=4.0,
        loses=True,
        only=("restore the source", "kill a carrier", "new epoch"),
        forgets=False,
    ),
    "kills": Course(
        fault_seconds=1.0,
        only=(
            "strike a process after some turns",
            "strike a process at its request",
            "leave markers out",
        ),
    ),
    "takeovers": Course(
        seconds=90.0,
        only=(
            "exchange partitions amid a takeover",
            "kill carriers after an election",
            "kill carriers as markers are left out",
        ),
    ),
}
"""Courses by family. Those that name their faults deal coincidences, which chance deals too seldom
to show that a rule about them is missing."""
