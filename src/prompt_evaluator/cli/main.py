"""The way in: which commands there are, and how an error becomes a sentence and an exit code."""

from __future__ import annotations

import importlib
import os
import sys

import click

from prompt_evaluator import __version__
from prompt_evaluator.errors import PromptEvaluatorError

# Name → where the command lives, and its line in `--help`. Read as a table, so that help imports no command.
COMMANDS = {
    "providers": ("prompt_evaluator.cli.providers:providers_command", "List providers of models, or test one."),
    "validate": ("prompt_evaluator.cli.validate:validate_command", "Check dataset files and list every problem."),
}


class _LazyGroup(click.Group):
    """Loads a command's module when that command is used, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches  # noqa: PLC0415 - only for a mistyped command

            near = get_close_matches(name, COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " See `prompt-evaluator --help`."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="prompt-evaluator")
def cli() -> None:
    """Tells whether a prompt or a model is good, stable and safe to release."""


def main() -> None:
    """Run the command line; errors we know become a sentence, everything else keeps its traceback."""
    try:
        cli.main(prog_name="prompt-evaluator")
    except PromptEvaluatorError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
