"""Commands that the console may run as jobs, and the words of their command lines.

All other commands are only shown, to be copied: they give up records, or are daemons.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from types import MappingProxyType

ROUTE = (("--route", "--route"),)
FEED = (("--feed", "--feed"),)
PLAN_FLAGS = frozenset({"--all-groups", "--recorded", "--partitions"})
PLAN_LISTS = frozenset(
    {"--group", "--except", "--topic", "--earliest", "--from-timestamp", "--may-go-back"}
)
OFF = frozenset({"", "no", "off", "false"})
"""Values with which a flag is left out."""


class NotSteered(ValueError):
    """The console does not run this command. Copy it, and run it in a shell."""


class BadValue(ValueError):
    """A field of a form has a value that no command line can express. Correct it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeredCommand:
    """Command that the console may run.

    Args:
        look: words of the command that shows what became of it; empty: it changes nothing, so it
            is run again.
        kept: options whose values `look` takes from the command line: (here, there).
        keeps_argument: the first argument is that of `look` as well.
        flags: options without a value.
        lists: options that are repeated for each value.
    """

    look: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    keeps_argument: bool = False
    has_progress: bool = False
    flags: frozenset[str] = field(default_factory=frozenset)
    lists: frozenset[str] = field(default_factory=frozenset)


_PLAN = SteeredCommand(
    look=("failover", "list"), has_progress=True, flags=PLAN_FLAGS, lists=PLAN_LISTS
)
_VERIFY = SteeredCommand(has_progress=True, flags=frozenset({"--partitions"}))
_APPLY = SteeredCommand(
    look=("failover", "verify"),
    keeps_argument=True,
    has_progress=True,
    flags=frozenset({"--partitions"}),
)
_ORDER = SteeredCommand(look=("balance", "show"), kept=ROUTE)
_FEED_ORDER = SteeredCommand(look=("aggregate", "status"), kept=FEED)
_ALERT = SteeredCommand(look=("alerts", "list"), kept=(("--region", "--region"),))

STEERED: Mapping[tuple[str, ...], SteeredCommand] = MappingProxyType(
    {
        ("failover", "plan"): _PLAN,
        ("failover", "apply"): _APPLY,
        ("failover", "verify"): _VERIFY,
        ("switchover", "plan"): _PLAN,
        ("switchover", "apply"): _APPLY,
        ("switchover", "verify"): _VERIFY,
        ("groups", "set-primary"): SteeredCommand(
            look=("groups", "show"),
            kept=(("--to", "--region"),),
            flags=frozenset({"--any-region", "--yes"}),
        ),
        ("balance", "plan"): SteeredCommand(flags=frozenset({"--full", "--moves"})),
        ("balance", "apply"): SteeredCommand(
            look=("balance", "show"), kept=ROUTE, has_progress=True, flags=frozenset({"--full"})
        ),
        ("balance", "pause"): _ORDER,
        ("balance", "resume"): _ORDER,
        ("balance", "pin"): _ORDER,
        ("balance", "unpin"): _ORDER,
        ("balance", "exclude"): _ORDER,
        ("balance", "include"): _ORDER,
        ("stream", "pause"): _ORDER,
        ("stream", "resume"): _ORDER,
        ("stream", "pause-topic"): _ORDER,
        ("stream", "resume-topic"): _ORDER,
        ("aggregate", "freeze"): _FEED_ORDER,
        ("aggregate", "resume"): _FEED_ORDER,
        ("alerts", "acknowledge"): _ALERT,
        ("alerts", "silence"): _ALERT,
        ("alerts", "reopen"): _ALERT,
        ("audit",): SteeredCommand(
            has_progress=True,
            flags=frozenset({"--partitions", "--keep", "--no-keep"}),
            lists=frozenset({"--route", "--topic"}),
        ),
        ("verify", "check"): SteeredCommand(flags=frozenset({"--objects", "--rows"})),
    }
)


def steered(words: Sequence[str]) -> tuple[tuple[str, ...], SteeredCommand]:
    """Returns the name of the command, such as ("failover", "apply"), and what is known of it.

    Raises NotSteered.
    """
    for length in (2, 1):
        name = tuple(words[:length])
        if len(name) == length and name in STEERED:
            return name, STEERED[name]
    raise NotSteered(f"not run by the console: {as_typed(words)}")


def named(words: Sequence[str]) -> tuple[tuple[str, ...], SteeredCommand]:
    """Returns the name and what is known of a command, also of one that is only copied."""
    try:
        return steered(words)
    except NotSteered:
        return tuple(takewhile(lambda word: not word.startswith("-"), words)), SteeredCommand()


def words_of(words: Sequence[str], values: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Returns the words of a command with the values of a form: options first, then arguments.

    Args:
        words: of the command, and options or arguments that are not in the form.
        values: (option, value); the option of an argument is "". Empty values are left out. The
            value of a repeatable option holds several, separated by blanks and quoted as in a
            shell.

    Raises BadValue when quotes are not closed, or an argument begins with a hyphen.
    """
    name, command = named(words)
    options: list[str] = []
    arguments: list[str] = []
    for option, value in values:
        text = value.strip()
        if not option:
            arguments += [text] if text else []
        elif option in command.flags:
            options += [] if text.lower() in OFF else [option]
        elif option in command.lists:
            options += [word for each in _several(option, text) for word in (option, each)]
        elif text:
            options += [option, text]
    for argument in arguments:
        if argument.startswith("-"):
            raise BadValue(f"an argument that begins with a hyphen: {argument}")
    return (*name, *options, *words[len(name) :], *arguments)


def command_line(words: Sequence[str], config: str) -> tuple[str, ...]:
    """Returns the words with the configuration, and with results and progress as JSON.

    Raises NotSteered.
    """
    name, command = steered(words)
    options = ["--config", config, "-o", "json"]
    if command.has_progress:
        options += ["--progress", "json"]
    return (*name, *options, *words[len(name) :])


def as_argument(text: str) -> tuple[str, ...]:
    """Returns the last words of a command with an argument; one with a hyphen comes after --."""
    return ("--", text) if text.startswith("-") else (text,)


def copied_line(words: Sequence[str], config: str = "") -> tuple[str, ...]:
    """Returns the words of a command that an operator copies, with the configuration."""
    name, _ = named(words)
    given = ("--config", config) if config else ()
    return (*name, *given, *words[len(name) :])


def way_out(words: Sequence[str]) -> tuple[str, ...]:
    """Returns the words of the command that shows what became of a command with unknown result.

    A command that changes nothing is its own way out. The options for programs are left out.
    Returns an empty tuple for a command that the console does not run.
    """
    try:
        name, command = steered(words)
    except NotSteered:
        return ()
    options, arguments = _parsed(words[len(name) :], command.flags)
    config = ["--config", options["--config"]] if "--config" in options else []
    if not command.look:
        return (*name, *_without(words[len(name) :], ("-o", "--progress")))
    kept = [word for old, new in command.kept if old in options for word in (new, options[old])]
    argument = arguments[:1] if command.keeps_argument else []
    return (*command.look, *argument, *kept, *config)


def changes(words: Sequence[str]) -> bool:
    """Returns True for a command that changes something, or saves a plan."""
    return bool(named(words)[1].look)


def as_typed(words: Iterable[str]) -> str:
    """Returns a command as it is typed in a shell, such as `sluice failover verify p1`."""
    return shlex.join(["sluice", *words])


def _several(option: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise BadValue(f"{option}: a quote is not closed") from None


def _parsed(words: Sequence[str], flags: frozenset[str]) -> tuple[dict[str, str], list[str]]:
    """Returns the values of the options, the last of each, and the arguments."""
    options: dict[str, str] = {}
    arguments: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return options, [*arguments, *left]
        if not word.startswith("-"):
            arguments.append(word)
        elif word not in flags and left:
            options[word] = left.pop(0)
    return options, arguments


def _without(words: Sequence[str], names: Iterable[str]) -> list[str]:
    """Returns the words without these options and their values."""
    found: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word in names and left:
            left.pop(0)
        else:
            found.append(word)
    return found
