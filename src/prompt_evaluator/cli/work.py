"""`prompt-evaluator work`."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.server_settings import server_settings
from prompt_evaluator.app.serving.worker import Worker
from prompt_evaluator.app.settings import masked, read_settings
from prompt_evaluator.app.stores import ServedSettings
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.cli.log import log_to_stderr
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.bounds import RUNS_AT_ONCE

if TYPE_CHECKING:
    from pathlib import Path


@click.command("work")
@click.option("--runs-at-once", "server_runs_at_once", type=number_type(RUNS_AT_ONCE), metavar="N", help="[default: 3]")
@click.option("--with-parent", is_flag=True, hidden=True, help="End when standard input does.")
@settings_options
def work_command(*, with_parent: bool, config_path: Path | None, **given: Any) -> None:
    """Make the runs that wait in the queue of a server, and go on with those whose worker has died.

    Several workers can share a store. Ctrl-C ends this one; its runs go on when another one takes them.
    """
    settings = ServedSettings.of(read_settings(config_path, given))
    log_to_stderr()
    if not with_parent:
        click.echo(f"Making the runs that wait in {masked(settings.store)}. Ctrl-C ends it.", err=True)
    try:
        asyncio.run(_work(settings, with_parent=with_parent))
    finally:
        settings.opened.close_for_good()


async def _work(settings: ServedSettings, *, with_parent: bool) -> None:
    server = server_settings(settings)
    async with Workspace(settings) as workspace:
        worker = Worker(workspace, runs_at_once=server.runs_at_once, resumes=server.resume == "auto")
        loop = asyncio.get_running_loop()
        for caught in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(caught, worker.stop)
        if with_parent:
            await loop.connect_read_pipe(lambda: _Parent(worker), sys.stdin)
        await worker.work()


class _Parent(asyncio.Protocol):
    """The process that started this one: it wakes the worker, and ends it by ending itself."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def data_received(self, data: bytes) -> None:  # noqa: ARG002 - whatever it is
        self._worker.wake()

    def eof_received(self) -> None:
        self._worker.stop()
