"""The status of a round is read back as it was written."""

from replicator.orders.round_status import AlertStatus, MoveStatus, RoundStatus


def test_a_status_read_back_is_the_same():
    status = RoundStatus(
        route="west.east",
        stream="default",
        at_ms=1,
        generation=2,
        partitions=3,
        moves=(MoveStatus(topic="t", partition=0, source=None, target=1, reason="new"),),
        loads={0: 0.5, 7: 0.25},
        alerts=(AlertStatus(name="hot partition", text="t-0", evidence={"share": 0.9}),),
    )
    assert RoundStatus.model_validate_json(status.model_dump_json()) == status
