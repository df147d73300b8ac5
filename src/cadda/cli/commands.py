"""How commands are registered, and how their errors are shown: in the words of their options."""

from __future__ import annotations

import errno
import logging
import re
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from cadda._internal.text import storable
from cadda.exceptions import CaddaError, DataWarning, one_line

__all__ = [
    "Command",
    "Group",
    "add_command",
    "command_group",
    "command_line",
    "given_options",
    "hint_on_interrupt",
    "name_options",
    "option_names",
]

NO_ARGUMENT = ("did you mean ", "got ", "key ", "setting ", "operation ")
"""What stands before a name in backticks that is not an argument."""

ARGUMENT = re.compile("".join(f"(?<!{words})" for words in NO_ARGUMENT) + r"`(\w+)(?:=([^`]+))?`")
"""An argument of the library in a message, such as `max_warmup`, `probe=True` or `lr=0.01`."""

FLAGS = {
    "`on_bad`": "`--drop-bad`",
    "`on_bad='drop'`": "`--drop-bad`",
    "`highpass=None`": "`--highpass none`",
    "`lowpass=None`": "`--lowpass none`",
    "`standardise='window'`": "`--standardise window`",
}
"""Values of arguments that have a flag of another name, or of another command."""


DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""What a disk reports that is full, limited or broken."""

LONGEST_SENTENCE = 500
"""More characters than a command's first sentence has."""

TERMINATED = 128 + signal.SIGTERM
"""Exit code of a command that was asked to end, as a shell reports it."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end, by SIGTERM."""


_interrupt: ContextVar[list[KeyboardInterrupt]] = ContextVar("interrupt")
"""The interrupt that the running command has received, if any."""


class Command(TyperCommand):
    """A command whose errors end in one sentence and an exit code.

    The code is 2 for whatever the user can change in the command, 1 for a disk that fails.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of arguments and options, in the sections of their help panels.

        Typer's own panels need wide terminals: in others they cut off names of options.
        """
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panel = getattr(parameter, "rich_help_panel", None) or kind
                sections.setdefault(panel, []).append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:  # typer's context, from another module in old versions
        """Run the command; errors of the library name options instead of arguments."""
        token, given = _running.set(self), _given.set(_typed(ctx))
        try:
            with _interruptible(), _options_in_warnings():
                return super().invoke(ctx)
        except (CaddaError, ValueError, TypeError, OSError) as error:
            typer.echo(f"cadda: {name_options(one_line(_sentence(error)))}", err=True)
            raise typer.Exit(1 if _is_of_disk(error) else 2) from error
        except Terminated as end:
            raise typer.Exit(TERMINATED) from end
        finally:
            _running.reset(token)
            _given.reset(given)


class Group(TyperGroup):
    """A group whose help says what each command does without cutting sentences off."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names of the commands with their first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, self.commands[name].get_short_help_str(limit=LONGEST_SENTENCE))
                    for name in self.list_commands(ctx)
                ]
            )


_running: ContextVar[Command | None] = ContextVar("running", default=None)
_given: ContextVar[frozenset[str]] = ContextVar("given", default=frozenset())


def _typed(ctx: Any) -> frozenset[str]:
    """Return the names of the parameters that are on the command line."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    # The enumeration is in another module in old versions of typer.
    return frozenset(
        name for name, source in sources.items() if getattr(source, "name", "") == "COMMANDLINE"
    )


def add_command(app: typer.Typer, command: Callable[..., None]) -> None:
    """Add a command; parameters that are dataclasses of options become those options."""
    name = command.__name__.rstrip("_").replace("_", "-")
    app.command(name, cls=Command)(_without_groups(command))


def command_group(help_text: str, examples: str, *commands: Callable[..., None]) -> typer.Typer:
    """Return a group of commands."""
    group = typer.Typer(
        cls=Group,
        help=help_text,
        epilog=f"Examples: {examples}",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in commands:
        add_command(group, command)
    return group


@contextmanager
def hint_on_interrupt(hint: str) -> Iterator[None]:
    """Print how to go on if the user interrupts."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or _interrupt.get([]):
            typer.echo(f"Interrupted. {hint}", err=True)
        raise


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make SIGTERM, which schedulers send, end the command as Ctrl-C does.

    Both end it even where a library makes an error of its own out of an interrupt, as pydantic
    does.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[KeyboardInterrupt] = []

    def interrupt(number: int, _frame: object) -> None:
        received.append(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())
        raise received[-1]

    token = _interrupt.set(received)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        # Commands in the background of a shell ignore Ctrl-C.
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    except Exception as error:
        if received:
            raise received[-1] from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _interrupt.reset(token)


class _OptionFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return name_options(super().format(record))


@contextmanager
def _options_in_warnings() -> Iterator[None]:
    """Show warnings as errors are shown: with options instead of arguments, without code."""
    log = logging.lastResort
    with warnings.catch_warnings():
        show = warnings.showwarning

        def show_text(message: Warning | str, *place: Any, **options: Any) -> None:
            is_note = issubclass(place[0], DataWarning)
            if is_note or place[0] is UserWarning:
                kind = "note" if is_note else "Warning"
                typer.echo(f"{kind}: {name_options(one_line(str(message)))}", err=True)
            else:
                show(message, *place, **options)

        warnings.showwarning = show_text
        if log is not None:
            log.setFormatter(_OptionFormatter())
        try:
            yield
        finally:
            if log is not None:
                log.setFormatter(None)


def name_options(text: str) -> str:
    """Return a message with the options of the running command instead of arguments.

    Arguments are in backticks: `max_warmup` becomes `--max-warmup`, `probe=True` becomes
    `--probe`. What is not an option of the command stays as it is, and so do values,
    suggestions, and keys of a file.
    """
    command = _running.get()
    if command is None:
        return text
    parameters = {parameter.name: parameter for parameter in command.params}

    def replace(match: re.Match[str]) -> str:
        name, value = match.groups()
        if match[0] in FLAGS:
            return FLAGS[match[0]]
        if name not in parameters or value == "None":
            return match[0]
        return f"`{_as_typed(parameters[name], value)}`"

    return ARGUMENT.sub(replace, text)


def option_names() -> list[str]:
    """Return the names of the arguments and options of the running command, as in Python."""
    command = _running.get()
    return [] if command is None else [str(parameter.name) for parameter in command.params]


def given_options() -> frozenset[str]:
    """Return the names of the arguments and options that the user has typed."""
    return _given.get()


def command_line() -> str:
    """Return the command as it can be typed again."""
    return storable(shlex.join(["cadda", *sys.argv[1:]]))


def _as_typed(parameter: Any, value: str | None) -> str:
    """Return an option with its value as on the command line."""
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    option = str(parameter.opts[0])
    if value is None or value == "True":
        return option
    if value == "False" and parameter.secondary_opts:
        return str(parameter.secondary_opts[0])
    return f"{option} {value.strip(chr(39) + chr(34))}"


def _sentence(error: Exception) -> str:
    """Return the text of an error; those of the system without their numbers."""
    if isinstance(error, OSError) and error.strerror is not None:
        file = "a file" if error.filename is None else error.filename
        return f"cannot use {file}: {error.strerror}."
    return str(error)


def _is_of_disk(error: BaseException | None) -> bool:
    """Check whether an error, or what it comes from, is that of a disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            return True
        error = error.__cause__
    return False


def _without_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its option groups as parameters."""
    groups: dict[str, type[Any]] = {}
    parameters: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not (isinstance(kind, type) and is_dataclass(kind)):
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        groups[parameter.name] = kind
        types = get_type_hints(kind, include_extras=True)
        parameters += [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=types[field.name],
            )
            for field in fields(kind)
        ]

    @wraps(command)
    def run(**options: Any) -> None:
        for name, kind in groups.items():
            options[name] = kind(**{field.name: options.pop(field.name) for field in fields(kind)})
        command(**options)

    # Typer asks `inspect`, which reads this attribute; the type of functions does not have it.
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
