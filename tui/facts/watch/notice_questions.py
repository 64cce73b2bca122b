"""Questions about notices: conditions and cards of daemons in each region's Redis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replicator.config.topology import Appliance
from replicator.notices.condition import Condition
from replicator.notices.daemon_card import DaemonCard
from replicator.notices.notice_store import NoticeStore
from tui.facts.part import NOTICES, STALE_CADENCES
from tui.facts.watch.kept_client import kept_question
from tui.facts.watch.question import Answers, Key, Question

CADENCE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Notices:
    """Notices of one region: conditions, the oldest first, and cards of the daemons that run."""

    conditions: tuple[Condition, ...] = ()
    cards: tuple[DaemonCard, ...] = ()


def redis_name(region: str) -> str:
    """Returns the name of a region's Redis for people."""
    return f"{region} Redis"


def notices_key(region: str) -> Key:
    return Key(redis_name(region), NOTICES)


def notice_questions(
    appliance: Appliance, regions: Iterable[str], timeout_seconds: float
) -> list[Question]:
    """Returns a question to the Redis of each region."""
    return [_question(appliance, region, timeout_seconds) for region in regions]


def _question(appliance: Appliance, region: str, timeout_seconds: float) -> Question:
    redis = appliance.region(region).redis_url
    return kept_question(
        notices_key(region),
        CADENCE_SECONDS,
        lambda: NoticeStore(redis(), region, timeout_seconds=timeout_seconds),
        _notices,
    )


def _notices(store: NoticeStore) -> Notices:
    conditions, cards = store.notices()
    return Notices(tuple(conditions), tuple(cards))


def notices_of(answers: Answers, region: str) -> Notices | None:
    """Returns the last notices of a region; None when its Redis never answered."""
    found: Notices | None = answers.value(notices_key(region))
    return found


def known_conditions(answers: Answers, region: str, now: float) -> tuple[Condition, ...] | None:
    """Returns the conditions of a region, the oldest first; None when they are not known.

    Those of a Redis that has been silent for three cadences may have ended since.
    """
    found = answers.answer(notices_key(region))
    if found.asked_at is None:
        return None
    if found.problem is not None and now - found.asked_at > STALE_CADENCES * CADENCE_SECONDS:
        return None
    notices: Notices = found.value
    return notices.conditions


def conditions_of(answers: Answers, regions: Iterable[str], now: float) -> tuple[Condition, ...]:
    """Returns the conditions of regions that are known, each once, the oldest first."""
    found = [each for region in regions for each in known_conditions(answers, region, now) or ()]
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.since_ms, each.who)))
