"""A command group that imports each command when it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.hints import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    Table = Mapping[str, tuple[str, str]]

TYPED = "prompt_evaluator.typed"
"""Where the context keeps everything that was typed behind the program's name."""
_OLD_NAMES = "prompt_evaluator.old_names"


class LazyGroup(click.Group):
    """Reads its commands from a table, so that `--help` imports none of them."""

    def __init__(
        self,
        *arguments: Any,
        table: Table | None = None,
        groups: Mapping[str, Table] | None = None,
        old_names: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        """Create the group.

        Args:
            arguments: As of a click group.
            table: Maps name to `module:attribute` and help line.
            groups: Several such tables by their headings, instead of `table`.
            old_names: What commands and options that are gone, also those of groups below, answer: `evals trends` or
                `evals gate --policy` to a sentence.
            more: As of a click group.
        """
        super().__init__(*arguments, **more)
        self._groups = groups or {"Commands": table or {}}
        self._table = {name: entry for entries in self._groups.values() for name, entry in entries.items()}
        self._old_names = old_names or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.parent is None:
            ctx.meta[TYPED] = tuple(args)
            ctx.meta[_OLD_NAMES] = self._old_names
        elif not args:
            _refuse_old(ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._table:
            return None
        module, _, attribute = self._table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._table and not name.startswith("-"):
            _refuse_old(ctx, name)
            near = nearest(name, self._table)
            hint = f" Did you mean {near!r}?" if near else f" See `{ctx.command_path} --help`."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.ctx is not None:
                _refuse_old(error.ctx, error.option_name)
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        widest = max(map(len, self._table))
        for heading, table in self._groups.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), line) for name, (_, line) in table.items()])


def _refuse_old(ctx: click.Context, *names: str) -> None:
    """Raise an error that says what is used instead, if there is no such command or option any more."""
    words = (*ctx.command_path.split()[1:], *names)
    if sentence := ctx.meta[_OLD_NAMES].get(" ".join(words)):
        kind = "an option" if words[-1].startswith("-") else "a command"
        raise click.UsageError(f"`{' '.join(words)}` is no longer {kind}. {sentence}")
