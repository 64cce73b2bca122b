"""Actions on a topic or a partition: pause, resume, and commands to copy."""

from __future__ import annotations

from collections.abc import Sequence

from tui.pages.page import Action, Field
from tui.steering.steered_command import as_argument

NO_TOPIC = "no topic under the cursor"


def topic_actions(
    route: str, topic: str | None, partition: int | None, parked: bool = False
) -> Sequence[Action]:
    """Returns the actions on a topic or, with a number, on one partition of it.

    What the row says is fixed: only what it does not say is a field of the form.

    Args:
        parked: the partition is parked, or a partition of the topic is.
    """
    subject = topic if partition is None or topic is None else f"{topic}-{partition}"
    part = () if partition is None else ("--partition", str(partition))
    target = ("--route", route, *part, *as_argument(topic or ""))
    why_off = NO_TOPIC if topic is None else None
    reason = Field("reason", "--reason", help="recorded, and shown to other operators")
    length = Field("for", "--for", is_required=False, help="such as 30m; empty: until resumed")
    return (
        Action(
            "H",
            "pause",
            ("stream", "pause-topic", *target),
            (reason, length),
            confirmation=subject or "",
            why_off=why_off,
        ),
        Action(
            "R",
            "resume",
            ("stream", "resume-topic", *target),
            confirmation=subject or "",
            why_off=why_off,
        ),
        Action(
            "W",
            "rewind",
            ("stream", "rewind-topic", *target),
            (Field("to", "--to", "10m", help="offset, earliest, an instant, or how long"),),
            why_off=why_off,
            is_copied=True,
        ),
        Action(
            "L",
            "accept loss",
            ("accept-loss", "--route", route, "--topic", topic or "", *part),
            why_off=why_off or (None if parked else "nothing here is parked"),
            is_copied=True,
        ),
    )
