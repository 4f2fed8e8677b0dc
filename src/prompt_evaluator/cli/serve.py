"""`prompt-evaluator serve`."""

from __future__ import annotations

import sys
import webbrowser
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.settings import masked, read_settings
from prompt_evaluator.app.stores import ServedSettings
from prompt_evaluator.cli.log import log_to_stderr
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.bounds import PORT

if TYPE_CHECKING:
    from pathlib import Path


@click.command("serve")
@click.option("--host", "server_host", metavar="ADDRESS", help="Where to listen.  [default: 127.0.0.1]")
@click.option("--port", "server_port", type=number_type(PORT), metavar="PORT", help="[default: 8080; 0: any free port]")
@click.option("--open", "opens", is_flag=True, help="Open the runs in a browser.")
@click.option("--no-worker", is_flag=True, help="Make no runs: `prompt-evaluator work` makes them elsewhere.")
@settings_options
def serve_command(*, opens: bool, no_worker: bool, config_path: Path | None, **given: Any) -> None:
    """Serve the HTTP API and the pages, and make the runs that are asked for.

    Only this machine is answered, unless --host or server.allowed_hosts say otherwise; then everybody needs a token
    (`prompt-evaluator token create`). Ctrl-C ends the server; its runs go on when it is started again.
    """
    settings = read_settings(config_path, given)
    serve = _server()
    log_to_stderr()
    worker = [sys.executable, "-m", "prompt_evaluator", "work", "--with-parent"]
    worker += ["--config", str(config_path)] if config_path else []

    def ready(address: str) -> None:
        click.echo(f"Serving {masked(settings.store)} at {address}. Ctrl-C ends it.", err=True)
        if opens:
            webbrowser.open(address)

    serve(ServedSettings.of(settings), worker=None if no_worker else worker, on_ready=ready)


def _server() -> Any:
    try:
        from prompt_evaluator.server.serving import serve  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"The server needs packages that are not installed ({error.name} is missing). "
            "Install them: pip install 'prompt-verdict[server]'"
        ) from None
    return serve
