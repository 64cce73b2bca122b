"""Step five of the demo: a whole region is killed, and an application continues in the other one.

The application stores its vector with its effects (docs/resume.md), so it handles every record once
although nothing was shut down in order.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack

from deploy.lab.application import Application
from deploy.lab.audit import Audit, audited
from deploy.lab.daemons import COMMANDS, Daemons
from deploy.lab.lab import Lab
from deploy.lab.numbered_load import NumberedLoad
from deploy.lab.operator import Operator
from deploy.lab.process import NotStarted
from deploy.lab.wait import until

TOPIC = "gates"
PARTITIONS = 4
RECORDS_PER_SECOND = 500
GROUP = "departures"
# Number of records that the application handles before the loss, and again after it.
STRETCH_RECORDS = 4_000
PATIENCE_SECONDS = 180.0


def lose_region(lab: Lab, daemons: Daemons, say: Callable[[str], None]) -> Audit:
    """Returns the verdict on the records that were acknowledged to both regions' producers.

    `daemons` already carry every route. Raises NotStarted or Refused.
    """
    west, east = lab.regions["west"], lab.regions["east"]
    directory = lab.directory / "applications"
    operator = Operator(lab.configuration)
    for name in lab.regions:
        daemons.start(name, "offsets")
    if not until(lambda: _has_copies(operator), PATIENCE_SECONDS, 0.5):
        raise NotStarted(f"east has no copies of west; see {daemons.logs}")
    with ExitStack() as stack:
        loads = [
            stack.enter_context(
                NumberedLoad(
                    f"{TOPIC}-{name}",
                    name,
                    lab.regions,
                    directory,
                    topic=TOPIC,
                    partitions=PARTITIONS,
                    records_per_second=RECORDS_PER_SECOND,
                )
            )
            for name in lab.regions
        ]
        application = stack.enter_context(
            Application(GROUP, directory, (TOPIC,), means="stored", configuration=lab.configuration)
        )
        application.start(west)
        _goes_on(application)
        before = application.handled_count()
        say(f"{GROUP} reads in west, and has handled {before:,} records")

        began_at = time.monotonic()
        daemons.kill("west")
        west.kill()
        application.kill()
        say("kill -9 of all that is in west: brokers, Redis, daemons, and the application")
        plan = operator.move("west", "east", [GROUP])
        mapped, asked = plan["completeness"]["mapped"], plan["completeness"]["asked"]
        say(
            f"sluice failover plan, apply, verify: {mapped} of {asked} positions, from copies "
            f"{plan['age_ms'] / 1000:.1f} s old"
        )
        application.start(east)
        _goes_on(application)
        after = application.handled_count() - before
        say(f"{GROUP} goes on in east: {after:,} records, {_seconds(began_at)} after the loss")

        west.start()
        west.wait_ready()
        daemons.start("west", *COMMANDS)
        acknowledged = [record for load in loads for record in load.stop()]
        say("west is back, with the records that it had not sent on yet")
        until(lambda: set(acknowledged) <= set(application.handled()), PATIENCE_SECONDS, 0.5)
        application.stop()
        return audited(acknowledged, application.handled())


def _has_copies(operator: Operator) -> bool:
    """Returns True if east has complete copies of west."""
    shown = operator.ask("offsets", "show", "--region", "east", "-o", "json").json()
    return all(copy["age_seconds"] is not None for copy in shown if copy["region"] == "west")


def _goes_on(application: Application) -> None:
    wanted = application.handled_count() + STRETCH_RECORDS

    def has() -> bool:
        application.look_alive()
        return application.handled_count() >= wanted

    if not until(has, PATIENCE_SECONDS):
        raise NotStarted(f"{GROUP} handled {application.handled_count():,} of {wanted:,} records")


def _seconds(began_at: float) -> str:
    return f"{time.monotonic() - began_at:.0f} s"
