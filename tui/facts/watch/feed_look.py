"""Look at feeds, for `sluice aggregate status`: each server is asked once, at the same time."""

from __future__ import annotations

import time
from collections.abc import Sequence

from replicator.config.feed_settings import Feed
from replicator.config.topology import Appliance
from tui.facts.feed_status import FeedStatus, feed_status
from tui.facts.watch.admins import Admins
from tui.facts.watch.balance_questions import order_question
from tui.facts.watch.feed_questions import facts_of, questions_of
from tui.facts.watch.look import look
from tui.facts.watch.notice_questions import notice_questions
from tui.facts.watch.question import Question


def feeds_now(appliance: Appliance, feeds: Sequence[Feed], timeout_seconds: float) -> FeedStatus:
    """Returns the status of feeds after the timeout at the latest.

    Raises nothing for an unreachable server.
    """
    answers = look(feed_look_questions(appliance, feeds, timeout_seconds), timeout_seconds)
    now_ms = time.time_ns() // 1_000_000
    return feed_status([facts_of(feed, answers, now_ms) for feed in feeds], now_ms)


def feed_look_questions(
    appliance: Appliance, feeds: Sequence[Feed], timeout_seconds: float
) -> list[Question]:
    """Returns the questions to all servers of these feeds, and to no others."""
    admins = Admins(appliance, timeout_seconds)
    regions = tuple(dict.fromkeys(feed.region for feed in feeds))
    return [
        *questions_of(admins, feeds),
        *(order_question(admins, region) for region in regions),
        *notice_questions(appliance, regions, timeout_seconds),
    ]
