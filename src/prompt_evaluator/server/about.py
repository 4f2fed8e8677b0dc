"""Whether the server is well, which version it is, and numbers for a monitor."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.serving.health import check_store, read_numbers
from prompt_evaluator.errors import StoreError
from prompt_evaluator.server.refusals import Refusal
from prompt_evaluator.server.routing import Routes, Streamed
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "About the server")
_LOG = logging.getLogger("prompt_evaluator.server")
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class Health(msgspec.Struct, frozen=True):
    """Whether the server is well."""

    status: str


class Version(msgspec.Struct, frozen=True):
    """What the server is."""

    name: str
    version: str


@ROUTES.add("GET", "/health/live", role=None, summary="Whether the server answers", answer=Health)
async def live(_call: Call[None, None]) -> Health:
    return Health("ok")


@ROUTES.add(
    "GET", "/health/ready", role=None, summary="Whether the server can read its store", answer=Health, errors=(503,)
)
def ready(call: Call[None, None]) -> Health:
    try:
        check_store(call.site.settings)
    except StoreError as error:  # which tells where the store is: not to everybody
        _LOG.warning("%s", error)
        raise Refusal(503, "The store cannot be read at the moment. The server's log says why.") from None
    return Health("ok")


@ROUTES.add("GET", "/version", role=None, summary="The server's version", answer=Version)
async def version(_call: Call[None, None]) -> Version:
    return Version("prompt-evaluator", __version__)


@ROUTES.add(
    "GET",
    "/metrics",
    role="viewer",
    summary="Numbers of runs, samples, tokens and cost, for Prometheus",
    answer=str,
    media_types=(_METRICS,),
)
def metrics(call: Call[None, None]) -> Streamed:
    lines = []
    for number in read_numbers(call.site.settings):
        lines += [f"# HELP {number.name} {number.help}", f"# TYPE {number.name} {number.kind}"]
        lines += [f"{number.name}{_labels(labels)} {value:g}" for labels, value in number.values]
    return Streamed(["\n".join([*lines, ""]).encode()], _METRICS)


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    return (
        "{" + ",".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in labels) + "}"
        if labels
        else ""
    )
