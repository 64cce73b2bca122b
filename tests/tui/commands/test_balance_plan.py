"""Output of `sluice balance plan`, `apply` and `partitions`, for people and programs."""

from dataclasses import replace

import pytest

from balancer.decision.placement import Move, Placement, Reason, Scope
from balancer.demand.demand import Basis
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.orders.order_records import Answer, ByHand
from replicator.orders.round_status import MoveStatus
from replicator.placement.rounds.partition_need import PartitionNeed
from replicator.placement.rounds.preview import Preview
from replicator.placement.rounds.shares import ShareEstimates
from replicator.placement.rounds.stream_round import Outcome
from tests.tui.balance_records import FIELDS, NOW_MS, ROUTE, lease, placed, status
from tests.tui.output import balancing
from tests.tui.output.balancing import UNSEEN, need
from tui.commands.balance_apply import placement_text, placement_values
from tui.commands.balance_partitions import (
    SHOWN_MAX,
    Needs,
    NotCarried,
    check_topic_carried,
    needs_text,
    needs_values,
    selected_previews,
)
from tui.commands.balance_plan import (
    Planned,
    apply_command,
    plan_text,
    plan_values,
)
from tui.facts.manual_placement_result import ManualPlacement, Result
from tui.facts.streams import UnknownStream

ORDER = ByHand(**FIELDS, id="one", scope=Scope.STICKY, generation=3)
DONE = Answer(**FIELDS, id="one", stream="default", generation=4, moves=1)
STALE = DONE.model_copy(update={"refused": "by now there is 5", "moves": 0, "generation": 5})
MOVED = placed(4).model_copy(
    update={"topics": {0: (("orders", (0, 1)),), 1: (("orders", (2,)),)}},
)
ORDERS = TopicPartition("orders", 1)
MOVE = MoveStatus(topic="orders", partition=1, source=1, target=0, reason="relieves its carrier")


def preview(moves: int = 1, stream: str = "default", **more) -> Preview:
    placement = Placement(
        where={ORDERS: 0},
        moves=(Move(ORDERS, 1, 0, Reason.RELIEVES),) * moves,
        loads={0: 0.5, 1: 0.4},
        hot={},
        unplaced=(),
        bound=0.45,
        certificate=moves,
    )
    found = status(
        stream=stream,
        generation=4,
        loads={0: 0.5, 1: 0.4},
        moves=(MOVE,) * moves,
        moves_count=moves,
        bound=0.45,
        certificate=moves,
        alerts=(),
        held=None,
        **more,
    )
    outcome = Outcome(
        found, placement=placement if moves else None, estimates=ShareEstimates({ORDERS: 0.2})
    )
    return Preview(ROUTE, stream, 3, outcome, {0: 0.3, 1: 0.6})


def planned(*previews: Preview, scope: Scope = Scope.STICKY, config: str = "") -> Planned:
    return Planned("east", scope, previews, config)


def test_values_have_moves_with_reasons_loads_before_and_after_and_the_command_to_apply_them():
    (found,) = plan_values(planned(preview()))["streams"]
    assert found["moves"] == [MOVE.model_dump()]
    assert found["carriers"] == [
        {"carrier": 0, "load_before": 0.3, "load_after": 0.5},
        {"carrier": 1, "load_before": 0.6, "load_after": 0.4},
    ]
    assert (found["bound"], found["carriers_at_least"], found["certificate"]) == (0.45, 2, 1)
    assert found["apply"] == "sluice balance apply --route 'west>east' --generation 3"


def test_the_command_names_the_stream_the_scope_and_the_configuration_where_it_has_to():
    one = preview(stream="money")
    whole = planned(one, scope=Scope.FULL, config=" --config a.toml")
    assert apply_command(whole, one) == (
        "sluice balance apply --route 'west>east' --stream money --full --generation 3"
        " --config a.toml"
    )


def test_a_plan_without_moves_names_no_command(assert_snapshot):
    assert_snapshot(plan_text(planned(preview(moves=0))), "preview_without_moves")


def test_people_see_each_move_its_reason_and_what_to_type(assert_snapshot):
    assert_snapshot(plan_text(planned(preview())), "preview")


def test_the_bound_is_of_plans_with_hot_partitions_alone_if_there_are_any():
    found = preview()
    assert "no placement has its heaviest carrier below 0.450" in plan_text(planned(found))
    placement = found.outcome.placement
    assert placement is not None
    with_hot = replace(found.outcome, placement=replace(placement, hot={ORDERS: 0.9}))
    found = replace(found, outcome=with_hot)
    assert "no placement with hot partitions alone has its heaviest" in plan_text(planned(found))


def test_the_first_of_many_moves_are_shown_and_the_reasons_counted():
    text = plan_text(planned(preview(moves=90)))
    assert text.count("orders  ") == 40
    assert "40 of 90 moves: 90 relieves its carrier; --moves shows more" in text
    assert plan_text(planned(preview(moves=90)), all_moves=True).count("orders  ") == 90


def test_loads_that_are_not_known_are_not_shown_as_numbers():
    blind = preview(moves=0, degraded="west regional: away")
    assert "loads are not known: west regional: away" in plan_text(planned(blind))
    (found,) = plan_values(planned(blind))["streams"]
    assert found["carriers"][0] == {"carrier": 0, "load_before": None, "load_after": None}


def placement(answer=None, after=None, lease=None, **more) -> ManualPlacement:
    return ManualPlacement(ORDER, answer, placed(3), after, lease, NOW_MS, **more)


def test_a_finished_placement_lists_the_partitions_that_have_another_carrier(assert_snapshot):
    done = placement(DONE, MOVED)
    assert done.result is Result.DONE
    assert placement_values(done) == {
        "schema_version": 1,
        "route": "west>east",
        "stream": "default",
        "scope": "sticky",
        "order": "one",
        "result": "done",
        "reason": None,
        "generation_asked": 3,
        "generation": 4,
        "moves_count": 1,
        "moves": [{"topic": "orders", "partition": 1, "source": 1, "target": 0}],
    }
    assert_snapshot(placement_text(done, ""), "manual_placement")


def test_a_placement_without_moves_says_so():
    none = DONE.model_copy(update={"moves": 0, "generation": 3})
    assert "nothing had to move, generation 3 holds" in placement_text(
        placement(none, placed(3)), ""
    )


def test_an_order_is_stale_whether_the_balancer_or_the_command_found_it_out():
    refused, not_given = placement(STALE), placement(is_written=False)
    assert refused.result is not_given.result is Result.STALE
    assert "refused: by now there is 5" in placement_text(refused, "")
    assert "Plan again: sluice balance plan --route 'west>east' --config f" in placement_text(
        not_given, " --config f"
    )
    assert (placement_values(not_given)["order"], placement_values(not_given)["result"]) == (
        None,
        "stale",
    )


@pytest.mark.parametrize(
    ("holder", "text"),
    [
        (lease(), "no answer yet, though a balancer acts (bob@ops pid 7)"),
        (lease(40), "no answer: no balancer acts. The order stays"),
        (None, "no answer: no balancer acts. The order stays"),
    ],
)
def test_without_an_answer_the_result_is_unknown_and_says_whether_a_balancer_acts(holder, text):
    found = placement(lease=holder)
    assert found.result is Result.UNKNOWN
    assert text in placement_text(found, "") and "sluice balance show" in placement_text(found, "")
    assert placement_values(found)["result"] == "unknown"


def test_an_order_that_was_replaced_names_the_operator_of_the_later_one():
    other = ORDER.model_copy(update={"id": "two", "who": "eve@ops"})
    assert "a later order of eve@ops has taken its place" in placement_text(
        placement(replaced_by=other), ""
    )


PREVIEW = balancing.needs().previews[0]


def needs(*found: PartitionNeed, topic: str | None = None, carried: int = 3, **fields) -> Needs:
    outcome = Outcome(status(**{"degraded": None, **fields}))
    return Needs("east", (Preview(ROUTE, "default", 3, outcome, {}, found, carried),), topic)


def test_people_see_load_traffic_lag_and_by_what_it_is_known(assert_snapshot):
    assert_snapshot(needs_text(needs(need(), UNSEEN)), "partition_needs")


def test_the_generation_is_the_one_whose_carriers_are_shown():
    found = needs(need(), carried=2)
    (stream,) = needs_values(found)["streams"]
    assert (stream["generation"], stream["placed_generation"]) == (2, 3)
    (line, *_) = needs_text(found).splitlines()
    assert line == "west>east: 1 partitions, generation 2; the driver is yet to follow 3"
    # The driver may follow a placement that is newer than those that were read.
    (line, *_) = needs_text(needs(need(), carried=4)).splitlines()
    assert line == "west>east: 1 partitions, generation 4"


def test_values_have_null_for_what_is_not_known():
    (stream,) = needs_values(needs(need(), UNSEEN))["streams"]
    first, second = stream["partitions"]
    assert (first["expected_bytes_per_second"], first["basis"]) == (2_000_000.4, "measured")
    unknown = ("carrier", "expected_records_per_second", "lag_records", "lag_seconds")
    assert [second[name] for name in unknown] == [None] * 4


def test_the_heaviest_of_many_partitions_are_shown_unless_all_are_asked_for():
    many = needs(*map(need, range(SHOWN_MAX + 5)))
    assert f"{SHOWN_MAX} of {SHOWN_MAX + 5}, the heaviest; --all" in needs_text(many)
    assert len(needs_text(many).splitlines()) == SHOWN_MAX + 4
    assert len(needs_text(many, all_partitions=True).splitlines()) == SHOWN_MAX + 5 + 3


def test_only_a_topic_that_is_asked_for_is_shown():
    found = needs(need(), need(topic="clicks"), topic="clicks")
    (stream,) = needs_values(found)["streams"]
    assert [it["topic"] for it in stream["partitions"]] == ["clicks"]
    assert "orders" not in needs_text(found)


def test_a_log_that_was_not_looked_at_lately_is_named_as_such(assert_snapshot):
    text = needs_text(needs(need(is_fresh=False), need(1, is_fresh=False, basis=Basis.FILE)))
    assert_snapshot(text, "partition_needs_not_lately")


def test_unknown_loads_are_named_with_the_reason():
    assert needs(need()).remarks() == []
    (remark,) = needs(need(), degraded="nobody looks").remarks()
    assert remark == "west>east: loads are not known: nobody looks"


def test_previews_are_selected_by_route_and_stream():
    assert selected_previews([PREVIEW], [ROUTE], None) == (PREVIEW,)
    assert selected_previews([PREVIEW], [ROUTE], "default") == (PREVIEW,)
    with pytest.raises(UnknownStream, match="no stream 'gold'; known: default"):
        selected_previews([PREVIEW], [ROUTE], "gold")
    with pytest.raises(UnknownStream):
        selected_previews([PREVIEW], [Route("east", "east")], None)


def test_a_topic_that_is_not_carried_is_refused_with_similar_names():
    check_topic_carried([PREVIEW], "orders")
    with pytest.raises(NotCarried, match="nothing of topic 'order' is carried there; is it orders"):
        check_topic_carried([PREVIEW], "order")
