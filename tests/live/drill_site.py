"""Two regions with their daemons for failover drills."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka.admin import NewTopic

from deploy.lab.application import Application, Means
from deploy.lab.audit import Audit, audited
from deploy.lab.daemons import COMMANDS, Daemons
from deploy.lab.dump import compare_topic
from deploy.lab.lab import Lab, LabRegion
from deploy.lab.numbered_load import Numbered, NumberedLoad
from deploy.lab.operator import Operator
from deploy.lab.wait import until

PARTITIONS = 2
RECORDS_PER_SECOND = 200
PATIENCE_SECONDS = 120.0
START_SECONDS = 300.0
SETTINGS = """\
[topics]
allow = {topics}
refresh_seconds = 1.0
[replicator]
ledger_seconds = 1.0
runs_seconds = 0.2
[offsets]
sync_seconds = 0.5
activity_seconds = 0.5
"""


@contextmanager
def lab_of(directory: Path, topics: Sequence[str], settings: str = "") -> Iterator[Lab]:
    """Runs two regions with these topics in both, and with daemons that notice all within a second.

    Args:
        settings: sections of the configuration beside those of SETTINGS.
    """
    whole = SETTINGS.format(topics=json.dumps(topics)) + settings
    with Lab(directory / "lab", settings=whole) as lab:
        for region in lab.regions.values():
            region.regional.create_topics(*(NewTopic(topic, PARTITIONS) for topic in topics))
        yield lab


class Site:
    """Both regions with their daemons, and the loads and applications of a drill."""

    def __init__(self, lab: Lab, daemons: Daemons) -> None:
        self.lab, self.daemons = lab, daemons
        self.west, self.east = lab.regions["west"], lab.regions["east"]
        self.operator = Operator(lab.configuration)
        self.topic = ""
        self._begun: Counter[str] = Counter()
        self.loads: dict[str, NumberedLoad] = {}
        self._stack = ExitStack()

    # -- set-up

    def make_whole(self) -> None:
        """Starts everything that an earlier drill may have left dead."""
        for region in self.lab.regions.values():
            region.start()
        for region in self.lab.regions.values():
            region.wait_ready()
        for name in self.lab.regions:
            self.daemons.start_missing(name, *COMMANDS)
        # Spark takes long to start on a busy machine; the drill's own limits do not cover that.
        assert until(self._is_carrying, START_SECONDS, 1.0), self.daemons.logs

    def _is_carrying(self) -> bool:
        self.daemons.look_alive()
        return self.daemons.lag_records() is not None

    def begin(self, drill: str) -> None:
        """Starts loads that produce from both regions into a new topic of this run."""
        self._begun[drill] += 1
        self.topic = f"{drill}-{self._begun[drill]}"
        for name in self.lab.regions:
            load = NumberedLoad(
                f"{self.topic}-{name}",
                name,
                self.lab.regions,
                self._directory,
                topic=self.topic,
                partitions=PARTITIONS,
                records_per_second=RECORDS_PER_SECOND,
            )
            self.loads[name] = self._stack.enter_context(load)

    def application(self, means: Means, *, name: str | None = None) -> Application:
        """Returns an application that reads the drill's topic; it is not started. Without a name it
        has a group of its own; all applications with a name share one group."""
        application = Application(
            self.topic if name else f"{self.topic}-{means}",
            self._directory,
            (self.topic,),
            means=means,
            configuration=self.lab.configuration,
            name=f"{self.topic}-{name}" if name else None,
        )
        return self._stack.enter_context(application)

    def run(self, applications: Iterable[Application], region: LabRegion) -> None:
        """Starts the applications in this region, and waits until each handles records."""
        applications = list(applications)
        for application in applications:
            application.start(region)
        for application in applications:
            self.goes_on(application)

    def end(self) -> None:
        self._stack.close()
        self.loads.clear()

    @property
    def _directory(self) -> Path:
        return self.lab.directory / "applications"

    # -- faults

    def lose(self, region: LabRegion) -> None:
        """Kills everything in the region with kill -9."""
        self.daemons.kill(region.name)
        region.kill()

    def bring_back(self, region: LabRegion, *, redis_is_empty: bool) -> None:
        if redis_is_empty:
            region.redis.lose_data()
        region.start()
        region.wait_ready()
        self.daemons.start(region.name, *COMMANDS)

    # -- waits

    def goes_on(self, application: Application, records: int = 500) -> None:
        """Waits until the application has handled `records` more records."""
        wanted = application.handled_count() + records

        def has() -> bool:
            application.look_alive()
            self.daemons.look_alive()
            return application.handled_count() >= wanted

        assert until(has, PATIENCE_SECONDS), (
            f"{application.group} handled {application.handled_count()} of {wanted}"
        )

    def settle(self) -> list[Numbered]:
        """Stops the loads and waits until no lag is left; returns the acknowledged records."""
        acknowledged = [record for load in self.loads.values() for record in load.stop()]
        assert until(lambda: self.daemons.lag_records() == 0, PATIENCE_SECONDS, 0.5)
        return acknowledged

    def until_known(self, source: str, target: str, group: str) -> None:
        """Waits until the target region knows the group; before, no plan can be made."""

        def is_known() -> bool:
            asked = ("failover", "plan", "--from", source, "--to", target, "--group", group)
            return self.operator.ask(*asked, "--reason", "drill", codes=(0, 2, 4)).code != 2

        assert until(is_known, PATIENCE_SECONDS, 1.0)

    def until_in_step(self, source: str, target: str, groups: list[str]) -> dict[str, Any]:
        """Waits until the target's offsets equal those of a new plan; returns the plan."""
        plan: dict[str, Any] = {}

        def is_in_step() -> bool:
            nonlocal plan
            plan = self.operator.plan(source, target, groups, codes=(0, 4))
            moves = [move for each in plan["groups"] for move in each["moves"]]
            return bool(moves) and all(m["resume"] == m["target_committed"] for m in moves)

        assert until(is_in_step, PATIENCE_SECONDS, 1.0), plan
        return plan

    def is_told_out_of_place(self, group: str) -> bool:
        """Returns True when a daemon has logged that the group is outside its primary region."""
        logs = (self.daemons.log(name, "offsets") for name in self.lab.regions)
        return any(
            "event=group-out-of-place" in line and repr(group) in line
            for log in logs
            for line in log.read_text().splitlines()
        )

    def audit(self, application: Application, acknowledged: list[Numbered]) -> Audit:
        """Waits up to 30 s for all acknowledged records, stops the application, and audits it."""
        owed = set(acknowledged)
        until(lambda: owed <= set(application.handled()), 30.0, 0.5)
        application.stop()
        return audited(acknowledged, application.handled())

    def assert_same_everywhere(self, *topics: str) -> None:
        """Raises RecordsDiffer when an aggregate does not hold exactly what both regions sent."""
        sources = {name: region.regional for name, region in self.lab.regions.items()}
        for topic in topics:
            for region in self.lab.regions.values():
                for comparison in compare_topic(sources, region.aggregate, topic).values():
                    comparison.assert_exact()
