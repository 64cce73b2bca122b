"""Causes of alerts in servers: one that is silent, a whole region, a daemon that is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from replicator.notices.condition import Condition, Kind
from tui.facts.alert import Level
from tui.facts.alert_cause import ROWS_MAX, Cause, Source, notices_in, some_of
from tui.facts.part import (
    LACKS_RIGHT,
    NOTICES,
    REACH,
    THIS_CONSOLE,
    THIS_MACHINE,
    Part,
    tells_missing_right,
)
from tui.facts.region_view import SILENT, RegionView
from tui.facts.snapshot import Snapshot

OF_SERVERS = frozenset(
    {Kind.SOURCE_SILENT, Kind.TOPICS_UNKNOWN, Kind.CARRIER_WAITS, Kind.LOADER_WAITS}
)
"""Kinds of conditions whose cause is a cluster, if they name one."""
FOUND_MS = 300_000
"""Time within which daemons find a silence that others have seen, and acknowledged, before."""
SETTLED_SECONDS = 10.0
"""Time for which a server outside of the regions gives no answer before that is an alert."""
NEEDED_ROLES = frozenset({"replicate", "offsets", "aggregate"})
"""Daemons without which nothing is carried, loaded, or known for a failover."""


@dataclass(slots=True)
class _Server:
    """Evidence about one server that does not answer."""

    region: str
    problem: str = ""
    since_ms: int | None = None
    found_ms: int | None = None
    """When a daemon found it, which all who look know."""
    about: dict[str, None] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    sources: dict[Source, None] = field(default_factory=dict)
    """Parts with conditions about it."""

    def takes(self, text: str, since_ms: int | None, about: Iterable[str]) -> None:
        self.problem = self.problem or text
        if since_ms is not None:
            self.since_ms = min(since_ms, self.since_ms or since_ms)
        self.about.update(dict.fromkeys(about))


def server_of(condition: Condition, names: Iterable[str]) -> str | None:
    """Returns the server that a condition is about; None if it is about none."""
    if condition.kind not in OF_SERVERS:
        return None
    if condition.cluster:
        return condition.cluster
    # Carriers name the cluster in the text only.
    return next((name for name in names if condition.text.startswith(f"{name}:")), None)


def region_of(condition: Condition, snapshot: Snapshot) -> str:
    """Returns the region whose daemons found a condition, as far as the snapshot tells."""
    by_route = {route.route: route.target for route in snapshot.routes}
    by_feed = {feed.feed: feed.region for feed in snapshot.feeds}
    known = by_route.get(condition.route) or by_feed.get(condition.feed)
    if known:
        return known
    if ">" in condition.route:
        return condition.route.partition(">")[2]
    regions = [each.region for each in snapshot.regions]
    # Daemons are named by their command and region.
    named = condition.who.split(" ")[1:2]
    return next((each for each in named if each in regions), (regions or [""])[0])


def silent_servers(snapshot: Snapshot) -> frozenset[str]:
    """Returns the servers that do not answer whoever looks, or a daemon.

    A carrier waits, and topics are unknown, also where a server has answered and refused.
    """
    names = names_of(snapshot.regions)
    told = (
        server_of(each, names)
        for each in snapshot.conditions
        if each.kind == Kind.SOURCE_SILENT and not tells_missing_right(each.text)
    )
    return frozenset(filter(None, (*told, *_silent(snapshot.regions))))


def names_of(regions: Iterable[RegionView]) -> dict[str, str]:
    """Returns the region of each server of the regions, by the server's name."""
    return {
        f"{each.region} {role}": each.region
        for each in regions
        for role in ("regional", "aggregate", "Redis")
    }


def server_causes(snapshot: Snapshot, now: float) -> Iterator[Cause]:
    """Yields a cause for each server that does not answer; one for a region of which none does."""
    names = names_of(snapshot.regions)
    found = {name: _Server(region) for name, region in names.items()}
    silent = silent_servers(snapshot)
    for name in sorted(_silent(snapshot.regions)):
        problem, since_ms = _problem(name, snapshot.parts)
        found[name].takes(problem, since_ms, _routes_of(name, snapshot))
    for condition in snapshot.conditions:
        named = server_of(condition, names)
        if named is None or named not in silent:
            continue
        server = found.setdefault(named, _Server(named.split(" ")[0]))
        feed = f"feed {condition.feed}" if condition.feed else ""
        about = filter(None, (*_routes_of(named, snapshot), condition.route, feed))
        server.takes(condition.text, condition.since_ms, about)
        server.found_ms = min(condition.since_ms, server.found_ms or condition.since_ms)
        server.rows.append(f"{condition.who}: {condition.kind}: {condition.text}")
        server.sources[notices_in(region_of(condition, snapshot))] = None
    yield from _grouped({name: found[name] for name in found if name in silent})
    yield from _others(snapshot.parts, names, now)
    yield from right_causes(snapshot)


def _grouped(silent: Mapping[str, _Server]) -> Iterator[Cause]:
    by_region: dict[str, dict[str, _Server]] = {}
    for name, server in silent.items():
        by_region.setdefault(server.region, {})[name] = server
    for region, servers in by_region.items():
        if len(servers) == 3:
            whole = _Server(region)
            for server in servers.values():
                whole.takes(server.problem, server.since_ms, server.about)
                whole.rows += server.rows
                whole.sources |= server.sources
                whole.found_ms = server.found_ms if whole.found_ms is None else whole.found_ms
            yield _cause(f"region/{region}", f"region {region}", whole, Level.PAGE, servers)
            continue
        for name, server in servers.items():
            # Records flow on without Redis.
            level = Level.WARN if name == f"{region} Redis" else Level.PAGE
            yield _cause(f"server/{name}", name, server, level, [name])


def _cause(key: str, name: str, server: _Server, level: Level, servers: Iterable[str]) -> Cause:
    return Cause(
        key=key,
        region=server.region,
        level=level,
        kind="server",
        text=silence(name, server.problem),
        about=tuple(server.about),
        since_ms=server.since_ms,
        news_ms=None if server.found_ms is None else server.found_ms - FOUND_MS,
        rows=tuple(server.rows[:ROWS_MAX]),
        sources=tuple(server.sources),
        own_sources=tuple((each, _asked_first(each)) for each in servers),
    )


def _asked_first(server: str) -> str:
    """Returns the subject of the question by whose answer a server is known to be there."""
    return NOTICES if server.endswith(" Redis") else REACH


def silence(name: str, problem: str) -> str:
    """Returns a sentence about a server that does not answer."""
    detail = problem.removeprefix(f"{name}:").removeprefix(name).strip()
    if detail.startswith("does not answer"):
        return f"{name} {detail}"
    return f"{name} does not answer" + (f": {detail}" if detail else "")


def _silent(regions: Iterable[RegionView]) -> Iterator[str]:
    for each in regions:
        states = {"regional": each.regional, "aggregate": each.aggregate, "Redis": each.redis}
        yield from (f"{each.region} {role}" for role, state in states.items() if state == SILENT)


def _problem(name: str, parts: Sequence[Part]) -> tuple[str, int | None]:
    """Returns the problem of a server in words, and since when it lasts."""
    # Its other questions may have had problems before, such as a right that is missing.
    source = name, _asked_first(name)
    own = next(
        (part for part in parts if part.problem and (part.server, part.about) == source), None
    )
    if own is None:
        return "", None
    since = own.problem_since
    return own.problem or "", None if since is None else int(since * 1000)


def _routes_of(name: str, snapshot: Snapshot) -> list[str]:
    region, _, role = name.partition(" ")
    return [
        route.route
        for route in snapshot.routes
        if (route.source if role == "regional" else route.target) == region
    ]


def _others(parts: Iterable[Part], names: Iterable[str], now: float) -> Iterator[Cause]:
    """Yields a cause for each server outside of the regions, such as a shard of a feed."""
    known = {name.casefold() for name in names}
    regions = [name.split(" ")[0] for name in names]
    told = {THIS_CONSOLE, THIS_MACHINE}
    for part in parts:
        if not part.problem or part.server.casefold() in known or part.server in told:
            continue
        if part.lacks_right:
            continue
        if part.problem_since is None or now - part.problem_since < SETTLED_SECONDS:
            continue
        told.add(part.server)
        yield Cause(
            key=f"server/{part.server}",
            region=regions[0] if regions else "",
            level=Level.WARN,
            kind="server",
            text=silence(part.server, part.problem),
            since_ms=int(part.problem_since * 1000),
        )


def right_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for each server that refuses whoever looks for want of a right."""
    found: dict[str, list[Part]] = {}
    for part in snapshot.parts:
        if part.lacks_right:
            found.setdefault(part.server, []).append(part)
    regions = [each.region for each in snapshot.regions]
    for server, parts in found.items():
        texts = [(part.problem or "").partition(f"{LACKS_RIGHT}: ") for part in parts]
        details = [rest or text for text, _, rest in texts]
        region = server.split(" ")[0]
        subjects = some_of(part.about for part in parts)
        yield Cause(
            key=f"right/{server}",
            region=region if region in regions else next(iter(regions), ""),
            level=Level.WARN,
            kind="right",
            text=f"{server}: no right to read {subjects}: {details[0]}",
            rows=tuple(
                f"{part.about}: {detail}" for part, detail in zip(parts, details, strict=True)
            )[:ROWS_MAX],
            extent=len(parts),
            own_sources=tuple((part.server, part.about) for part in parts),
        )


def daemon_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for each daemon that is missing."""
    for region in snapshot.regions:
        for daemon in region.daemons:
            if daemon.state != "missing":
                continue
            about = (each.route for each in snapshot.routes if each.target == region.region)
            feeds = (f"feed {each.feed}" for each in snapshot.feeds if each.region == region.region)
            yield Cause(
                key=f"daemon/{daemon.role}/{region.region}",
                region=region.region,
                level=Level.PAGE if daemon.role in NEEDED_ROLES else Level.WARN,
                kind="daemon",
                text=f"sluice {daemon.role} of region {region.region} does not run",
                about=tuple(feeds if daemon.role in ("aggregate", "verify") else about),
                sources=(notices_in(region.region),),
            )
