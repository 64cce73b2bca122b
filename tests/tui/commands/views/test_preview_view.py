"""Output of `sluice balance plan`, for people and programs."""

from dataclasses import replace

from balancer.decision.placement import Move, Placement, Reason, Scope
from balancer.plan import TopicPartition
from replicator.orders.round_status import MoveStatus
from replicator.placement.rounds.preview import Preview
from replicator.placement.rounds.shares import ShareEstimates
from replicator.placement.rounds.stream_round import Outcome
from tests.tui.balance_records import ROUTE, status
from tui.commands.views.preview_view import Planned, apply_command, as_text, as_values

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
    (found,) = as_values(planned(preview()))["streams"]
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
    assert_snapshot(as_text(planned(preview(moves=0))), "preview_without_moves")


def test_people_see_each_move_its_reason_and_what_to_type(assert_snapshot):
    assert_snapshot(as_text(planned(preview())), "preview")


def test_the_bound_is_of_plans_with_hot_partitions_alone_if_there_are_any():
    found = preview()
    assert "no placement has its heaviest carrier below 0.450" in as_text(planned(found))
    placement = found.outcome.placement
    assert placement is not None
    with_hot = replace(found.outcome, placement=replace(placement, hot={ORDERS: 0.9}))
    found = replace(found, outcome=with_hot)
    assert "no placement with hot partitions alone has its heaviest" in as_text(planned(found))


def test_the_first_of_many_moves_are_shown_and_the_reasons_counted():
    text = as_text(planned(preview(moves=90)))
    assert text.count("orders  ") == 40
    assert "40 of 90 moves: 90 relieves its carrier; --moves shows more" in text
    assert as_text(planned(preview(moves=90)), all_moves=True).count("orders  ") == 90


def test_loads_that_are_not_known_are_not_shown_as_numbers():
    blind = preview(moves=0, degraded="west regional: away")
    assert "loads are not known: west regional: away" in as_text(planned(blind))
    (found,) = as_values(planned(blind))["streams"]
    assert found["carriers"][0] == {"carrier": 0, "load_before": None, "load_after": None}
