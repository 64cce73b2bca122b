"""Exit codes of the expected errors, and their list in the help."""

from tui.orders.exit_code import MEANINGS, ExitCode

__all__ = ["EXIT_CODES", "MEANINGS", "ExitCode", "exit_code_help", "exit_code_of"]

# Exit codes of the expected errors. Classes are named by text, so that none has to be imported.
EXIT_CODES = {
    "aggregator.restore.restore_plan.CannotRestore": ExitCode.REFUSED,
    "aggregator.upsert.query_session.RightsMissing": ExitCode.UNREACHABLE,
    "aggregator.upsert.reader.QueryFailed": ExitCode.FAILED,
    "aggregator.upsert.sql_text.QueryRefused": ExitCode.USAGE,
    "aggregator.upsert.visibility.MarkRefused": ExitCode.REFUSED,
    "aggregator.verifier.owners.NothingJudged": ExitCode.USAGE,
    "replicator.audit.route_topics.NotMirrored": ExitCode.USAGE,
    "replicator.config.mistakes.ConfigMistakes": ExitCode.USAGE,
    "replicator.config.topology.UnknownRegion": ExitCode.USAGE,
    "replicator.kafka.admin.admin_error.AdminUnreachable": ExitCode.UNREACHABLE,
    "aggregator.s3.answers.StoreProblem": ExitCode.UNREACHABLE,
    "replicator.kafka.client.brokers.Unreachable": ExitCode.UNREACHABLE,
    "replicator.kafka.client.cluster.Forbidden": ExitCode.UNREACHABLE,
    "replicator.kafka.client.cluster.Fenced": ExitCode.FENCED,
    "replicator.kafka.client.cluster.ProducerStateLost": ExitCode.PARTLY_DONE,
    "replicator.kafka.client.cluster.Answered": ExitCode.FAILED,
    "replicator.mirror.offset_map.packed_map.UnknownVersion": ExitCode.FAILED,
    "replicator.mirror.offset_map.runs_topic.RunsTopicMissing": ExitCode.FAILED,
    "replicator.mirror.offset_map.runs_topic.RunsTopicUnreadable": ExitCode.FAILED,
    "replicator.runtime.store_errors.StoreUnreachable": ExitCode.UNREACHABLE,
    "replicator.spark.authentication.NoSecret": ExitCode.USAGE,
    "replicator.spark.slots.SlotsUnlimited": ExitCode.USAGE,
    "replicator.groups.failover.fresh_plans.NoWay": ExitCode.USAGE,
    "replicator.groups.planning.failover_plan.BrokenPlan": ExitCode.USAGE,
    "replicator.groups.planning.failover_plan.UnknownPlan": ExitCode.PLAN_STALE,
    "replicator.groups.failover.plan_files.PlanMissing": ExitCode.USAGE,
    "replicator.groups.failover.plan_files.PlanNotKept": ExitCode.FAILED,
    "replicator.groups.planning.recheck.PlanStale": ExitCode.PLAN_STALE,
    "replicator.groups.planning.recheck.Refused": ExitCode.REFUSED,
    "tui.commands.plan_making.NothingKnown": ExitCode.REFUSED,
    "replicator.kafka.tail.topic_tailer.LogUnreadable": ExitCode.UNREACHABLE,
    "replicator.placement.rounds.preview.NoDriver": ExitCode.REFUSED,
    "tui.orders.order_checks.OrderRefused": ExitCode.REFUSED,
    "replicator.mirror.repair.rewind.CannotRewind": ExitCode.REFUSED,
    "replicator.mirror.repair.rewind.PartlyRewound": ExitCode.PARTLY_DONE,
    "tui.facts.watch.upsert_questions.EndsDropped": ExitCode.REFUSED,
    "tui.facts.watch.upsert_questions.LookRefused": ExitCode.UNREACHABLE,
    "tui.recording.recording_file.NoRecording": ExitCode.USAGE,
    "tui.facts.streams.UnknownStream": ExitCode.USAGE,
    "tui.commands.aggregate_proto.NoTable": ExitCode.USAGE,
    "tui.commands.balance_partitions.NotCarried": ExitCode.REFUSED,
    "tui.orders.streams.StreamExists": ExitCode.REFUSED,
    "replicator.orders.balance_log.Superseded": ExitCode.FENCED,
    "replicator.orders.order_reader.FlawedRecord": ExitCode.USAGE,
    "replicator.kafka.tail.compacted_topic.WriteUnknown": ExitCode.RESULT_UNKNOWN,
    "replicator.kafka.admin.admin_error.AdminError": ExitCode.FAILED,
}


def exit_code_of(error: BaseException) -> ExitCode | None:
    """Returns the exit code of the error's nearest listed class; None for an unexpected error."""
    for kind in type(error).__mro__:
        code = EXIT_CODES.get(f"{kind.__module__}.{kind.__name__}")
        if code is not None:
            return code
    return None


def exit_code_help() -> str:
    """Returns a line for each exit code and its meaning, for --help."""
    return "\n".join(f"  {code:d}  {MEANINGS[code]}" for code in ExitCode)
