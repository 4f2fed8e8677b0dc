"""A command group that imports each command when it is used."""

from __future__ import annotations

import gc
import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.hints import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


TYPED = "prompt_evaluator.typed"
"""Where the context keeps everything that was typed behind the program's name."""
_NEW_OBJECTS = 20_000
"""New objects between two collections of cyclic garbage. A run makes little of it, and collecting every 700 objects,
the default, takes 3 % of its time."""


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Imported modules stay: scanning them again and again takes much of the time of a short command."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS)
        gc.enable()


class LazyGroup(click.Group):
    """Reads its commands from a table, so that `--help` imports none of them."""

    def __init__(self, *arguments: Any, table: Mapping[str, tuple[str, str]], **more: Any) -> None:
        """Create the group; `table` maps name to `module:attribute` and help line."""
        super().__init__(*arguments, **more)
        self._table = table

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.parent is None:
            ctx.meta[TYPED] = tuple(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._table:
            return None
        module, _, attribute = self._table[cmd_name][0].partition(":")
        with _collector_paused():
            command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._table and not name.startswith("-"):
            near = nearest(name, self._table)
            hint = f" Did you mean {near!r}?" if near else f" See `{ctx.command_path} --help`."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._table.items()])
