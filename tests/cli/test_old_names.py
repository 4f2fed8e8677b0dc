"""A command or an option that is gone says what is used instead."""

from __future__ import annotations

import re

from click.testing import CliRunner

from prompt_evaluator.cli.main import GROUPS, OLD_NAMES, cli

WRITTEN = re.compile(rf"`((?:{'|'.join(name for group in GROUPS.values() for name in group)})\b[^`]*)`")


def test_an_old_name_answers_with_a_sentence_that_names_what_there_is() -> None:
    for name, sentence in OLD_NAMES.items():
        done = CliRunner().invoke(cli, [*name.split(), *([] if name == "providers" else ["x", "--json"])])

        assert done.exit_code == 2, name
        kind = "an option" if " --" in name else "a command"
        assert done.output == f"Error: `{name}` is no longer {kind}. {sentence}\n"
        commands = WRITTEN.findall(sentence)
        assert commands, name
        for command in commands:
            words = [word for word in command.split() if re.fullmatch("[a-z-]+", word) and not word.startswith("-")]
            assert CliRunner().invoke(cli, [*words[:2], "--help"]).exit_code == 0, command


def test_a_name_that_never_was_is_still_only_unknown() -> None:
    assert "No such command 'lits'. Did you mean 'list'?" in CliRunner().invoke(cli, ["lits"]).output


def test_help_fits_one_screen_and_has_no_more_than_22_commands() -> None:
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).output.splitlines()

    commands = [line for line in shown[shown.index("Evaluate:") :] if line.startswith("  ")]
    assert len(commands) <= 22
    assert len(shown) <= 45
