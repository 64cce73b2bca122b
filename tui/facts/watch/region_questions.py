"""Questions about regions: whether their clusters answer, and the views of regions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.notices.daemon_card import DaemonCard
from tui.facts.part import REACH, each_once, tells_missing_right
from tui.facts.region_view import DAEMON_ROLES, NO_RIGHT, SILENT, DaemonView, RegionView
from tui.facts.watch.admins import Admins
from tui.facts.watch.notice_questions import notices_key, notices_of, redis_name
from tui.facts.watch.question import Answers, Key, Question

CADENCE_SECONDS = 10.0


def reach_key(cluster: ClusterName) -> Key:
    return Key(cluster, REACH)


def region_questions(admins: Admins, clusters: Iterable[ClusterName]) -> list[Question]:
    """Returns a question to each cluster, by which a silent one shows soon."""
    return [_question(admins, cluster) for cluster in clusters]


def _question(admins: Admins, cluster: ClusterName) -> Question:
    return Question(
        key=reach_key(cluster),
        cadence_seconds=CADENCE_SECONDS,
        ask=lambda: admins.of(cluster).cluster_id(),
        cluster=admins.cluster(cluster),
    )


def region_views(
    appliance: Appliance,
    regions: Iterable[str],
    answers: Answers,
    copies_age_seconds: Mapping[str, float | None],
    balanced: Iterable[str] = (),
) -> tuple[RegionView, ...]:
    """Returns the views of regions.

    Args:
        copies_age_seconds: by region, of the oldest copy of another region's log.
        balanced: regions that are known to have had a balancer.
    """
    having = frozenset(balanced)
    return tuple(
        RegionView(
            region=region,
            daemons=_daemons(appliance, region, answers, region in having),
            regional=state_of(answers, reach_key(ClusterName.regional(region))),
            aggregate=state_of(answers, reach_key(ClusterName.aggregate(region))),
            redis=state_of(answers, notices_key(region)),
            copies_age_seconds=copies_age_seconds.get(region),
            problems=_problems(answers, region),
        )
        for region in regions
    )


def state_of(answers: Answers, key: Key) -> str:
    """Returns "ok", "silent", "no right" or "unknown", by the last try of a question."""
    found = answers.answer(key)
    if found.problem is not None:
        return NO_RIGHT if tells_missing_right(found.problem) else SILENT
    return "unknown" if found.asked_at is None else "ok"


def _problems(answers: Answers, region: str) -> tuple[str, ...]:
    """Returns what is in the way at a region's servers."""
    servers = (
        ClusterName.regional(region),
        ClusterName.aggregate(region),
        redis_name(region),
    )
    return each_once(
        answer.problem
        for server in servers
        for key, answer in answers.by_key.items()
        if key.server == server
    )


def _daemons(
    appliance: Appliance, region: str, answers: Answers, is_balanced: bool
) -> tuple[DaemonView, ...]:
    notices = notices_of(answers, region)
    cards = notices.cards if notices else ()
    is_known = state_of(answers, notices_key(region)) == "ok"
    has_work = roles_with_work(appliance, region)
    found: list[DaemonView] = []
    for role in DAEMON_ROLES:
        own = [_running(card) for card in cards if card.role == role]
        lacking = "missing" if role in has_work or (is_balanced and role == "balance") else ""
        if not own:
            state = (lacking or "not configured") if is_known else "unknown"
            own = [DaemonView(role=role, state=state)]
        elif not is_known:
            own = [replace(each, state="unknown") for each in own]
        found += own
    return tuple(found)


def _running(card: DaemonCard) -> DaemonView:
    return DaemonView(
        role=card.role,
        state="runs",
        version=card.version,
        host=card.host,
        pid=card.pid,
        since_ms=card.since_ms,
        doing=card.doing,
    )


def roles_with_work(appliance: Appliance, region: str) -> frozenset[str]:
    """Returns the roles of the daemons that a region cannot do without.

    A balancer is optional: it counts once the configuration says something about balancing.
    """
    roles = {"offsets"}
    if appliance.routes_into(region):
        roles.add("replicate")
        if appliance.balance.model_fields_set:
            roles.add("balance")
    if appliance.feeds_of(region):
        roles |= {"aggregate", "verify"}
    return frozenset(roles)
