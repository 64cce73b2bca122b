"""Exit codes of the `sluice` program; scripts and service managers rely on the numbers."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes, as documented in docs/exit-codes.md; a test compares the two."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    PARTLY_DONE = 5
    PLAN_STALE = 6
    RESULT_UNKNOWN = 7
    FENCED = 8
    DIFFERENT = 9


MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed: the line on stderr says what",
    ExitCode.USAGE: "wrong usage or configuration",
    ExitCode.UNREACHABLE: "a server could not be reached",
    ExitCode.REFUSED: "refused by a check",
    ExitCode.PARTLY_DONE: "partly done: run it again",
    ExitCode.PLAN_STALE: "the plan is stale: make a new one",
    ExitCode.RESULT_UNKNOWN: "the result is unknown: the line on stderr says how to look",
    ExitCode.FENCED: "a newer process took over: do not restart this one",
    ExitCode.DIFFERENT: "source and target do not hold the same records",
}
