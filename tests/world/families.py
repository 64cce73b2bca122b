"""Families of histories: the mirror, with and without losses, groups in two regions, sinks of rows
and of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from tests.world.claims import history as claim_history
from tests.world.claims import mutations as of_claims
from tests.world.claims.claimant import PRODUCT
from tests.world.claims.scene import ClaimCourse
from tests.world.groups import group_history
from tests.world.groups import mutations as of_groups
from tests.world.groups.scene import CONTESTED, DECISIONS, GroupCourse
from tests.world.mirror import history
from tests.world.mirror.courses import COURSES
from tests.world.mirror.mutations import (
    custody,
    losses,
    offset_maps,
    orders,
    placements,
    producing,
    source_order,
    tails,
    topic_configs,
)
from tests.world.mirror.mutations.mutation import RULES_HOLD
from tests.world.mirror.scene import Course
from tests.world.objects import (
    folder_mutations,
    log_mutations,
    loss_mutations,
    operator_mutations,
    poison,
    restore_mutations,
)
from tests.world.objects import history as object_history
from tests.world.objects import mutations as of_objects
from tests.world.objects.scene import (
    CLOCKS,
    EPOCHS,
    FOLDERS,
    FORGETS,
    FULL_OF_LETTERS,
    OVERWRITES,
    POISONED,
    RESTORES,
    SWEEPS,
)
from tests.world.objects.scene import KILLS as OBJECT_KILLS
from tests.world.objects.scene import RESTS as OBJECT_RESTS
from tests.world.objects.scene import Course as ObjectCourse
from tests.world.replay import WHOLE, Replay
from tests.world.sinks import courses as sink_courses
from tests.world.sinks import history as sink_history
from tests.world.sinks import mutations as of_sinks
from tests.world.sinks.mutation import Mutation as FeedMutation
from tests.world.sinks.scene import KILLS as SINK_KILLS
from tests.world.sinks.scene import LETTERS as SINK_LETTERS
from tests.world.sinks.scene import RESTS as SINK_RESTS
from tests.world.sinks.scene import Course as SinkCourse
from tests.world.upserts import courses as upsert_courses
from tests.world.upserts import history as upsert_history
from tests.world.upserts import mutations as of_upserts
from tests.world.upserts.scene import Course as UpsertCourse


class Result(Protocol):
    """Result of a history, whatever else it tells."""

    @property
    def records(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def log(self) -> list[str]: ...


C = TypeVar("C", Course, GroupCourse, SinkCourse, ObjectCourse, ClaimCourse, UpsertCourse)
F = TypeVar("F", SinkCourse, ObjectCourse)


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """A history that is to be played.

    Args:
        mutation: name of a mutation; None: all rules hold.
        seconds: virtual time with load and faults, after which all is mended; None: the course's.
            Up to then it is the same history as a longer one.
    """

    family: str
    seed: int
    mutation: str | None = None
    replay: Replay = WHOLE
    seconds: float | None = None

    def shortened(self, course: C) -> C:
        """Returns a course that ends after this request's time."""
        return course if self.seconds is None else replace(course, seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class Family:
    """A family of histories.

    Args:
        play: plays a history; raises Wrong.
        mutations: by name, the number of the rule that each takes out.
        seconds: virtual time with load and faults.
        wait_seconds: longest wait of a record that is allowed meanwhile; 0: that is not checked.
    """

    play: Callable[[HistoryRequest], Result]
    mutations: Mapping[str, int]
    seconds: float
    wait_seconds: float = 0.0


def _mirror(name: str, course: Course) -> Family:
    mutations = {it.name: it for it in _MIRROR if it.family == name}

    def play(asked: HistoryRequest) -> Result:
        found = mutations.get(asked.mutation or "", RULES_HOLD)
        played = asked.shortened(course)
        return history.play(asked.seed, played, found.makers, found.parts, asked.replay)

    return Family(play, {it.name: it.rule for it in mutations.values()}, course.seconds)


def _groups(name: str, course: GroupCourse) -> Family:
    mutations = {it.name: it for it in of_groups.MUTATIONS if it.family == name}

    def play(asked: HistoryRequest) -> Result:
        # A rule is taken out of the whole process, for good.
        if asked.mutation and asked.mutation not in _taken_out:
            mutations[asked.mutation].take_out()
            _taken_out.add(asked.mutation)
        return group_history.play_groups(asked.seed, asked.shortened(course), asked.replay)

    return Family(play, {it.name: it.rule for it in mutations.values()}, course.seconds)


def _claims(course: ClaimCourse) -> Family:
    mutations = {it.name: it for it in of_claims.MUTATIONS}

    def play(asked: HistoryRequest) -> Result:
        parts = PRODUCT
        if asked.mutation:
            mutations[asked.mutation].take_out()
            parts = mutations[asked.mutation].parts
        return claim_history.play(asked.seed, asked.shortened(course), parts, asked.replay)

    return Family(play, dict.fromkeys(mutations, of_claims.RULE), course.seconds)


def _upserts(name: str, course: UpsertCourse) -> Family:
    known = (*of_upserts.MUTATIONS, *upsert_courses.MUTATIONS)
    mutations = {it.name: it for it in known if it.family == name}

    def play(asked: HistoryRequest) -> Result:
        if asked.mutation and asked.mutation not in _taken_out:
            mutations[asked.mutation].take_out()
            _taken_out.add(asked.mutation)
        return upsert_history.play(asked.seed, asked.shortened(course), asked.replay)

    return Family(play, {it.name: it.rule for it in mutations.values()}, course.seconds)


def _feed(
    play_feed: Callable[..., Result], course: F, of_course: Iterable[FeedMutation[F]] = ()
) -> Family:
    mutations = {it.name: it for it in of_course}

    def play(asked: HistoryRequest) -> Result:
        if asked.mutation is None:
            return play_feed(asked.seed, asked.shortened(course), replay=asked.replay)
        it = mutations[asked.mutation]
        return play_feed(asked.seed, asked.shortened(it.course), it.makers, asked.replay)

    rules = {it.name: it.rule for it in mutations.values()}
    return Family(play, rules, course.seconds, course.wait_seconds)


_sinks = partial(_feed, sink_history.play)
_objects = partial(_feed, object_history.play)

_MIRROR = [
    it
    for each in (
        custody,
        tails,
        source_order,
        producing,
        offset_maps,
        losses,
        orders,
        placements,
        topic_configs,
    )
    for it in each.MUTATIONS
]
_taken_out: set[str] = set()

FAMILIES: Mapping[str, Family] = {
    **{name: _mirror(name, course) for name, course in COURSES.items()},
    "groups": _groups("groups", GroupCourse()),
    "decisions": _groups("decisions", DECISIONS),
    "contested": _groups("contested", CONTESTED),
    "sinks": _sinks(SinkCourse(), of_sinks.MUTATIONS),
    "sink_kills": _sinks(SINK_KILLS),
    "sink_letters": _sinks(SINK_LETTERS, of_sinks.OF_LETTERS),
    "sink_rests": _sinks(SINK_RESTS, of_sinks.OF_RESTS),
    "objects": _objects(ObjectCourse()),
    "object_kills": _objects(OBJECT_KILLS),
    "object_rests": _objects(OBJECT_RESTS, of_objects.OF_RESTS),
    "object_losses": _objects(loss_mutations.LOSSES),
    "overwrites": _objects(OVERWRITES, operator_mutations.OF_OVERWRITING),
    "restores": _objects(RESTORES, restore_mutations.MUTATIONS),
    "claims": _claims(ClaimCourse()),
    "sweeps": _objects(SWEEPS, operator_mutations.OF_SWEEPS),
    "sink_takeovers": _sinks(sink_courses.TAKEOVERS, of_sinks.OF_TAKEOVERS),
    "sink_stops": _sinks(sink_courses.STOPS, of_sinks.OF_STOPS),
    "sink_cuts": _sinks(sink_courses.CUT, of_sinks.OF_CUT),
    "sink_many_cuts": _sinks(sink_courses.MANY_CUTS, of_sinks.OF_MANY_CUTS),
    "sink_letters_of_logs": _sinks(sink_courses.LETTERS_OF_LOGS, of_sinks.OF_LETTERS_OF_LOGS),
    "sink_recreations": _sinks(sink_courses.RECREATED, of_sinks.OF_RECREATED),
    "sink_clocks": _sinks(sink_courses.CLOCKS, of_sinks.OF_CLOCKS),
    "sink_servers": _sinks(sink_courses.SERVERS, of_sinks.OF_SERVERS),
    "sink_poison": _sinks(sink_courses.POISONED, of_sinks.OF_POISON),
    "sink_markers": _sinks(sink_courses.LEFT_OUT, of_sinks.OF_LEFT_OUT),
    "sink_commits": _sinks(sink_courses.COMMITS, of_sinks.OF_COMMITS),
    "sink_stalls": _sinks(sink_courses.STALL, of_sinks.OF_STALLS),
    "sink_crowds": _sinks(sink_courses.CROWDED, of_sinks.OF_CROWDS),
    "sink_many_stalls": _sinks(sink_courses.MANY, of_sinks.OF_MANY),
    "sink_many_returns": _sinks(sink_courses.MANY_RETURNS, of_sinks.OF_MANY_RETURNS),
    "sink_returns": _sinks(sink_courses.RETURNS, of_sinks.OF_RETURNS),
    "sink_absences": _sinks(sink_courses.AWAY, of_sinks.OF_AWAY),
    "sink_standstills": _sinks(sink_courses.STILL, of_sinks.OF_STILL),
    "sink_rebuilds": _sinks(sink_courses.REBUILDS, of_sinks.OF_REBUILDS),
    "object_absences": _objects(of_objects.AWAY, of_objects.OF_AWAY),
    "object_standstills": _objects(of_objects.STILL, of_objects.OF_STILL),
    "object_loaders": _objects(of_objects.USUAL, of_objects.MUTATIONS),
    "object_limits": _objects(of_objects.BY_LOG, of_objects.OF_LOG),
    "object_takeovers": _objects(of_objects.TAKEOVERS, of_objects.OF_TAKEOVERS),
    "object_deaths": _objects(of_objects.DEATHS, of_objects.OF_DEATHS),
    "object_uploads": _objects(of_objects.UPLOADS, of_objects.OF_UPLOADS),
    "object_names": _objects(of_objects.NAMES, of_objects.OF_NAMES),
    "object_commits": _objects(of_objects.AMID, of_objects.OF_COMMITS),
    "object_folders": _objects(FOLDERS, folder_mutations.OF_FOLDERS),
    "object_forgets": _objects(FORGETS, operator_mutations.OF_FORGETTING),
    "object_ends": _objects(FULL_OF_LETTERS, of_objects.OF_ENDS),
    "object_poison": _objects(POISONED, poison.mutations(POISONED)),
    "object_clocks": _objects(CLOCKS, folder_mutations.OF_CLOCKS),
    "object_epochs": _objects(EPOCHS, folder_mutations.OF_EPOCHS),
    "object_letters": _objects(of_objects.LETTERS, of_objects.OF_LETTERS),
    "object_cuts": _objects(log_mutations.CUT, log_mutations.OF_CUT),
    "object_recreations": _objects(log_mutations.RECREATED, log_mutations.OF_RECREATED),
    "upserts": _upserts("upserts", UpsertCourse()),
    "upsert_lags": _upserts("upsert_lags", upsert_courses.LAGS),
    "upsert_answers": _upserts("upsert_answers", upsert_courses.ANSWERS),
    "upsert_logs": _upserts("upsert_logs", upsert_courses.LOGS),
    "upsert_days": _upserts("upsert_days", upsert_courses.DAYS),
    "object_truncations": _objects(loss_mutations.FEW_KINDS, loss_mutations.MUTATIONS),
}
