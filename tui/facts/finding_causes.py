"""Causes of alerts in what was looked at: balance, copies, groups, audits, the verifier."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from replicator.audit.kept_audit import KeptAudit
from replicator.audit.verdict import Verdict
from replicator.audit.window import iso
from replicator.groups.planning.checks import AGE_WARN_MS
from tui.facts.alert import Level
from tui.facts.alert_cause import ROWS_MAX, Cause, some_of
from tui.facts.anomaly import Anomaly
from tui.facts.balancing import BalanceAlert, StreamView
from tui.facts.counted import counted
from tui.facts.group_view import GroupView
from tui.facts.part import ANOMALIES, AUDITS, BALANCE, COPIES, MEMBERS, ORDERS
from tui.facts.snapshot import Snapshot

ANOMALY_SECONDS = 86_400.0
"""Time for which an anomaly is an alert; the verifier's board keeps it for longer."""
PAGED_BY_BALANCER = frozenset({"no room", "frozen"})
PARTITION = re.compile(r"(?P<topic>\S+)-(?P<partition>\d+)\b")
CHECK_MARGIN_MS = 60_000
"""Time before an anomaly from which on the history is judged again."""


def balance_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for all alerts of one name in a stream's last round, if it counts."""
    for view in snapshot.balance:
        for stream in view.streams:
            by_name: dict[str, list[BalanceAlert]] = {}
            for alert in stream.current_alerts:
                by_name.setdefault(alert.name, []).append(alert)
            for name, found in by_name.items():
                yield _balance_cause(view.region, stream, name, found)


def _balance_cause(
    region: str, stream: StreamView, name: str, found: Sequence[BalanceAlert]
) -> Cause:
    where = stream.route if stream.stream == "default" else f"{stream.route} {stream.stream}"
    text = f"{name}: {found[0].text}"
    if len(found) > 1:
        text = f"{name}: {len(found)} in {where}, such as {found[0].text}"
    one = PARTITION.match(found[0].text) if len(found) == 1 else None
    return Cause(
        key=f"balance/{name}/{stream.route}/{stream.stream}/",
        region=region,
        level=Level.PAGE if name in PAGED_BY_BALANCER else Level.WARN,
        kind="balance",
        text=text,
        about=(stream.route,),
        route=stream.route,
        topic=one["topic"] if one else None,
        partition=int(one["partition"]) if one else None,
        rows=tuple(alert.text for alert in found[:ROWS_MAX]),
        command=("balance", "partitions", "--route", stream.route, "--stream", stream.stream),
        extent=len(found),
        sources=((f"{region} Redis", BALANCE), (f"{region} aggregate", ORDERS)),
    )


def copies_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for each region whose copies a failover's check does not let pass."""
    asked = {part.server for part in snapshot.parts if part.about == COPIES and part.asked_at}
    for region in snapshot.regions:
        name, age = region.region, region.copies_age_seconds
        if age is None:
            if f"{name} Redis" not in asked or len(snapshot.regions) == 1:
                continue
            text = f"age of the copies in {name} is not known: a failover to {name} is blocked"
        elif age * 1000 > AGE_WARN_MS:
            text = (
                f"copies in {name} are {age:,.0f} s old: a failover to {name} would not know what "
                "happened since"
            )
        else:
            continue
        yield Cause(
            key=f"copies/{name}",
            region=name,
            level=Level.WARN,
            kind="copies",
            text=text,
            about=(name,),
            command=("offsets", "show", "--region", name),
            sources=((f"{name} Redis", COPIES),),
        )


def group_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for all groups of one primary region that have members elsewhere."""
    by_primary: dict[str, list[GroupView]] = {}
    for group in snapshot.groups or ():
        if group.is_out_of_place:
            by_primary.setdefault(group.primary or "", []).append(group)
    for primary, found in by_primary.items():
        names = [group.group for group in found]
        regions = sorted({region for group in found for region in group.members})
        noun = "group has" if len(found) == 1 else "groups have"
        yield Cause(
            key=f"group/{primary}",
            region=primary,
            level=Level.WARN,
            kind="group",
            text=f"{len(found):,} {noun} members outside of {primary or 'a primary region'}: "
            + some_of(names),
            about=tuple(f"group {name}" for name in names[:ROWS_MAX]),
            rows=tuple(
                f"{group.group}: primary {group.primary or '?'}, members in "
                f"{', '.join(group.members)}"
                for group in found[:ROWS_MAX]
            ),
            command=("groups", "show", "--region", primary) if primary else (),
            extent=len(found),
            sources=tuple((f"{region} aggregate", MEMBERS) for region in regions),
        )


def audit_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for each route whose newest audit is not clean."""
    by_route: dict[str, list[KeptAudit]] = {}
    for audit in snapshot.audits or ():
        by_route.setdefault(audit.route, []).append(audit)
    for route, audits in by_route.items():
        audits.sort(key=lambda each: each.at_ms, reverse=True)
        failed = list(_until_clean(audits))
        if failed:
            yield _audit_cause(route, failed)


def _until_clean(audits: Sequence[KeptAudit]) -> Iterator[KeptAudit]:
    for audit in audits:
        if audit.is_clean:
            return
        yield audit


def _audit_cause(route: str, failed: Sequence[KeptAudit]) -> Cause:
    newest = failed[0]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in newest.counts.items())
    is_loss = newest.worst is not None and newest.worst.is_difference
    topics = {row.topic for row in newest.rows}
    window = ("--since", iso(newest.since_ms), "--until", iso(newest.until_ms))
    named = [word for topic in sorted(topics)[:5] for word in ("--topic", topic)]
    return Cause(
        key=f"audit/{route}",
        region=route.partition(">")[2],
        level=Level.PAGE if is_loss else Level.WARN,
        kind="audit",
        text=f"audit of {route}: partitions: {counts}"
        if counts
        else f"audit of {route} compared nothing: {'; '.join(newest.problems) or 'no records'}",
        about=(route,),
        route=route,
        topic=topics.pop() if len(topics) == 1 else None,
        since_ms=failed[-1].at_ms,
        news_ms=newest.at_ms,
        rows=tuple(audit_rows(newest)),
        command=("audit", "--route", route, *named, *window, "--partitions", "--by", "bytes"),
        sources=((f"{route.partition('>')[2]} Redis", AUDITS),),
    )


def audit_rows(audit: KeptAudit) -> Iterator[str]:
    """Yields a line for each partition that is not clean, then the problems."""
    for row in audit.rows:
        name = row.topic if row.partition is None else f"{row.topic}-{row.partition}"
        counts = [
            f"{count:,} {word}"
            for word, count in (
                (Verdict.MISSING, row.missing),
                (Verdict.SURPLUS, row.surplus),
                (Verdict.CHANGED, row.changed),
            )
            if count
        ]
        yield f"{name}: {row.verdict}: " + "; ".join((*counts, *row.examples, *row.doubts))
    yield from audit.problems


def anomaly_causes(snapshot: Snapshot, now: float) -> Iterator[Cause]:
    """Yields a cause for all anomalies of one kind of a feed or route in a cluster, of a day."""
    begin_ms = int((now - ANOMALY_SECONDS) * 1000)
    groups: dict[tuple[str, str, str], list[Anomaly]] = {}
    for each in snapshot.anomalies or ():
        if each.at_ms >= begin_ms:
            for kind in _kinds(each):
                groups.setdefault((each.cluster, each.owner, kind), []).append(each)
    for (cluster, owner, kind), found in groups.items():
        yield _anomaly_cause(cluster, owner, kind, found)


def _kinds(anomaly: Anomaly) -> dict[str, None]:
    return dict.fromkeys(each.kind for each in anomaly.findings if each.weight == "anomaly")


def _anomaly_cause(cluster: str, owner: str, kind: str, found: Sequence[Anomaly]) -> Cause:
    newest, first_ms = max(found, key=lambda it: it.at_ms), min(it.at_ms for it in found)
    places = {(each.topic, each.partition) for each in found}
    finding = next(each for each in newest.findings if each.kind == kind)
    name = f"{newest.topic}-{newest.partition}"
    some = f"{name}" if len(places) == 1 else f"{counted(len(places), 'partition')}, such as {name}"
    since = iso(first_ms - CHECK_MARGIN_MS)
    return Cause(
        key=f"verify/{kind}/{owner}/{cluster}/",
        region=newest.region,
        level=Level.PAGE,
        kind="verify",
        text=f"verifier: {owner} in {cluster}: {some}: {finding}",
        about=(newest.route or owner,),
        route=newest.route,
        feed=newest.feed,
        cluster=cluster,
        topic=newest.topic if len({topic for topic, _ in places}) == 1 else None,
        partition=newest.partition if len(places) == 1 else None,
        since_ms=first_ms,
        news_ms=newest.at_ms,
        rows=tuple(line for each in found[: ROWS_MAX // 4] for line in anomaly_rows(each)),
        command=("verify", "check", "--region", newest.region, "--since", since),
        sources=((f"{newest.region} Redis", ANOMALIES),),
    )


def anomaly_rows(anomaly: Anomaly) -> Iterator[str]:
    """Yields lines about an anomaly: its place, the findings, both entries."""
    yield f"{anomaly.topic}-{anomaly.partition} in {anomaly.cluster} at {iso(anomaly.at_ms)}"
    yield from (f"  {each.weight}: {each}" for each in anomaly.findings)
    yield f"  before: {anomaly.before or 'none'}"
    yield f"  after:  {anomaly.after or 'none'}"
