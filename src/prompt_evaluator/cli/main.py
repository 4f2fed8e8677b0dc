"""The entry point: the commands, and how errors become messages and exit codes."""

from __future__ import annotations

import errno
import os
import sys

import click

from prompt_evaluator.cli.lazy import LazyGroup
from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.version import __version__

_INTERRUPTED, _BROKEN_PIPE, _FAILED = 130, 141, 3

# Maps name to `module:attribute` and help line, so that `--help` imports no command.
GROUPS = {
    "Evaluate": {
        "init": ("prompt_evaluator.cli.init:init_command", "Create a project that runs offline right away."),
        "validate": ("prompt_evaluator.cli.validate:validate_command", "Check dataset files and list every problem."),
        "evaluate-dataset": (
            "prompt_evaluator.cli.evaluate_dataset:evaluate_dataset_command",
            "Evaluate prompts and models on a dataset or one input.",
        ),
        "benchmark": ("prompt_evaluator.cli.benchmark:benchmark_command", "Run models on benchmark datasets."),
        "evals": ("prompt_evaluator.cli.evals:evals_command", "Run the release harness, and gate a release by it."),
        "resume": ("prompt_evaluator.cli.resume:resume_command", "Continue an interrupted run."),
        "score": ("prompt_evaluator.cli.score:score_command", "Judge the stored answers of a run again."),
    },
    "Look": {
        "runs": ("prompt_evaluator.cli.runs:runs_command", "List, show, watch, edit, pin, export or delete runs."),
        "report": ("prompt_evaluator.cli.report:report_command", "Write a report on a run, or on two compared."),
        "trends": ("prompt_evaluator.cli.trends:trends_command", "Show how a metric went over time."),
        "leaderboard": ("prompt_evaluator.cli.leaderboard:leaderboard_command", "Rank models on each dataset."),
    },
    "Decide": {
        "compare": ("prompt_evaluator.cli.compare:compare_command", "Say whether one run is better than another."),
        "gate": ("prompt_evaluator.cli.gate:gate_command", "Decide whether a run may be released."),
        "label": ("prompt_evaluator.cli.label:label_command", "Score answers yourself, one key each."),
        "labels": ("prompt_evaluator.cli.labels:labels_command", "Import or export scores that people gave."),
    },
    "Serve": {
        "serve": ("prompt_evaluator.cli.serve:serve_command", "Serve the HTTP API and the pages."),
        "work": ("prompt_evaluator.cli.work:work_command", "Make the runs that wait in a server's queue."),
        "token": ("prompt_evaluator.cli.token:token_command", "Make, list or revoke tokens of a server's users."),
    },
    "Set up": {
        "list": (
            "prompt_evaluator.cli.listings:list_command",
            "List datasets, suites, rubrics, metrics or providers.",
        ),
        "providers": ("prompt_evaluator.cli.providers:providers_command", "Try a model, or fetch the current prices."),
        "config": ("prompt_evaluator.cli.config:config_command", "Show every setting and where it is set."),
        "doctor": ("prompt_evaluator.cli.doctor:doctor_command", "Check the environment for problems."),
    },
}
# What commands and options that are gone answer.
OLD_NAMES = {
    "generate": "To see a model's answer, use `evaluate-dataset -i TEXT`, or `providers test` to make one short call.",
    "evaluate-single": "To evaluate one input, use `evaluate-dataset -i TEXT`.",
    "compare-prompts": "To compare prompts, use `evaluate-dataset` with several `-s`.",
    "compare-runs": "To compare runs in a script, use `compare A B --fail-on-regression`, with or without `--json`.",
    "render-report": "To report on a run in a folder, use `report FOLDER`; on two runs, `report A B`.",
    "view": "To send results to somebody, use `report RUN`; to look at them in a browser, use `serve`.",
    "chart": "Charts are in the report (`report RUN`) and on the pages of `serve`.",
    "store": "To check the store, use `doctor`; a store is copied as any file or database is.",
    "metrics": "To list metrics, use `list metrics`.",
    "rubric": "To list rubrics, use `list rubrics`; to show one, use `list rubrics NAME`.",
    "providers": "To list providers, use `list providers`; to try one, use `providers test PROVIDER/MODEL`.",
    "benchmark list": "To list benchmark datasets, use `list datasets`.",
    "benchmark show": "To show the tasks of a dataset, use `list datasets NAME`.",
    "benchmark suites": "To list suites, use `list suites`.",
    "evals leaderboard": "To rank configurations, use `leaderboard`; `results/leaderboard.json` has the latest run.",
    "evals trends": "To see how configurations went over time, use `trends`; `results/trends.json` has every run.",
    "evals baseline": "To pin what a run is compared with, use `runs pin`, and then `gate`.",
    "evaluate-dataset --gate": "To gate the run that was made, use `gate @last`.",
    "evaluate-dataset --ab-test-system-prompt": "To compare prompts, use `evaluate-dataset` with several `-s`.",
    "evaluate-dataset --attempts": "An answer is taken as it comes; only the harness, `evals run`, asks again.",
    "benchmark run --attempts": "An answer is taken as it comes; only the harness, `evals run`, asks again.",
    "evals gate --policy": "To gate a run of the harness by a policy, use `gate @last --policy FILE`.",
}


@click.group(
    cls=LazyGroup, groups=GROUPS, old_names=OLD_NAMES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="prompt-evaluator")
def cli() -> None:
    """Find out whether a prompt or a model is good, stable and safe to release."""


def main() -> None:
    """Run the command line. Known errors become a message; anything else keeps its traceback."""
    try:
        code = cli.main(prog_name="prompt-evaluator", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        code = _INTERRUPTED
    except PromptEvaluatorError as error:
        click.echo(f"Error: {_pasteable(str(error))}", err=True)
        code = error.exit_code
    except BrokenPipeError:  # the reader of our output is gone, such as `head`
        _silence_stdout()
        code = _BROKEN_PIPE
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _silence_stdout()
        click.echo("Error: cannot write the output: the disk is full.", err=True)
        code = _FAILED
    sys.exit(code)


def _pasteable(text: str) -> str:
    from prompt_evaluator.cli.command_line import pasteable  # noqa: PLC0415 - help needs none of it

    return pasteable(text)


def _silence_stdout() -> None:
    """Keep the interpreter from flushing standard output again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
