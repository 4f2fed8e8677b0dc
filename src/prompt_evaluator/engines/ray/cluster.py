"""The connection to Ray: a cluster that exists, or a Ray of our own that starts and ends with this process.

Ray is quiet here: no usage statistics, no dashboard, no command line in its records, nothing on the terminal. A Ray of
our own listens on loopback only, and wants a token that only its own processes know.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from prompt_evaluator.engines.ray import cleaner
from prompt_evaluator.errors import ConfigurationError, EngineError
from prompt_evaluator.model import message_of

_MISSING = "Ray is not installed. Install the extra `ray`: pip install 'prompt-verdict[ray]'."
_MARK = "PROMPT_EVALUATOR_RAY_SESSION"
"""The variable by which the processes of a Ray of our own are known."""
_LONGEST_FOLDER = 40
"""Characters. Ray makes sockets below it, whose paths may have 107."""
_OBJECT_STORE = 100 * 1024 * 1024
"""Bytes. Items and results are small and pass through it only if they have more than 100 kB."""
_ALWAYS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
_OF_OUR_OWN = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),  # one per process, because Ray reads it only once
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # despite its name: keeps every port on loopback
    **dict.fromkeys(  # seconds: a busy machine takes longer than Ray expects
        (
            "RAY_DASHBOARD_STARTUP_TIMEOUT_S",
            "RAY_gcs_server_request_timeout_seconds",
            "RAY_raylet_start_wait_time_s",
            "RAY_worker_register_timeout_seconds",
        ),
        "300",
    ),
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_worker_niceness": "0",  # by default 15: on a machine with other work, workers would get what that leaves over
}
_CLEANED_WITHIN, _REACHED_WITHIN = 10.0, 10.0


class RayCluster:
    """Connected on first use. One for each process: Ray itself has one connection per process."""

    def __init__(self, address: str | None = None, *, cpus: int | None = None) -> None:
        """Connect later.

        Args:
            address: A cluster that exists; by default a Ray of our own on this machine.
            cpus: The CPUs of a Ray of our own; by default those that this process may use.
        """
        if importlib.util.find_spec("ray") is None:
            raise ConfigurationError(_MISSING)
        self._address, self._cpus = address, cpus or _cpus()
        self._ray: Any = None
        self.session: Path | None = None
        self._cleaner: subprocess.Popen[bytes] | None = None
        self._connects, self._joined = asyncio.Lock(), False

    @property
    def is_ours(self) -> bool:
        return self._address is None

    async def ray(self) -> Any:
        """The module `ray`, connected."""
        async with self._connects:
            if self._ray is None:
                self._ray = await asyncio.to_thread(self._connected)
        return self._ray

    async def close(self) -> None:
        """End a Ray of our own, or leave the cluster."""
        if self._ray is not None:
            await asyncio.to_thread(self._disconnect, self._ray)
            self._ray = None

    def _connected(self) -> Any:
        before = dict(os.environ)
        try:
            return self._started()
        finally:
            for name in (_MARK, *_OF_OUR_OWN):  # for Ray's processes only, not for others that this one starts
                os.environ.pop(name, None)
                if name in before:
                    os.environ[name] = before[name]

    def _started(self) -> Any:
        if (known := sys.modules.get("ray")) is not None and known.is_initialized():
            self._joined = True  # a program that uses both
            return _quiet(known)
        os.environ.update(_ALWAYS)
        if self.is_ours:
            self._begin_session()
        ray = _quiet(importlib.import_module("ray"))
        given: dict[str, Any] = {"address": self._address}
        if self.session is not None:
            given = {
                "address": "local",
                "num_cpus": self._cpus,
                "include_dashboard": False,
                "object_store_memory": _OBJECT_STORE,
                "_temp_dir": str(self.session),
            }
        try:
            _reach(self._address)
            ray.init(**given, log_to_driver=False, configure_logging=False, logging_level=logging.CRITICAL)
        except Exception as error:  # noqa: BLE001 - Ray raises many kinds
            self._end_session()
            where = f"the Ray cluster at {self._address}" if self._address else "Ray"
            what = message_of(error).strip().partition("\n")[0].rstrip(".")
            advice = "Check the address, and that this Python and its Ray have the cluster's versions."
            raise EngineError(
                f"No connection to {where}: {what}. {advice if self._address else 'Try --engine local.'}"
            ) from None
        return ray

    def _begin_session(self) -> None:
        """Make the folder for Ray's files, and start the process that removes it."""
        base = tempfile.gettempdir()
        if len(base) > _LONGEST_FOLDER and os.access("/tmp", os.W_OK):  # noqa: S108 - the folder below it is new
            base = "/tmp"  # noqa: S108
        self.session = Path(tempfile.mkdtemp(prefix="pe-ray-", dir=base))
        self._cleaner = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", cleaner.__file__, str(self.session), _MARK],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # or Ctrl-C would end it before Ray
        )
        os.environ.update(_OF_OUR_OWN | {_MARK: str(self.session)})

    def _disconnect(self, ray: Any) -> None:
        if not self._joined:
            ray.shutdown()
        self._end_session()

    def _end_session(self) -> None:
        if self.session is None or self._cleaner is None:
            return
        assert self._cleaner.stdin is not None  # noqa: S101 - a pipe
        self._cleaner.stdin.close()
        try:
            self._cleaner.wait(_CLEANED_WITHIN)
        except subprocess.TimeoutExpired:
            shutil.rmtree(self.session, ignore_errors=True)
        self.session = self._cleaner = None


def _reach(address: str | None) -> None:
    """Raise OSError if nobody is at HOST:PORT; Ray itself tries for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), _REACHED_WITHIN).close()


def _cpus() -> int:
    """CPUs that this process may use; not every system says."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _quiet(ray: Any) -> Any:
    """Keep Ray from writing to the terminal, and from recording this command line, which may contain a password."""
    log = logging.getLogger("ray")
    log.setLevel(logging.CRITICAL)
    log.propagate = False
    internal: Any = importlib.import_module("ray._private.worker")
    if hasattr(internal, "print_to_stdstream"):  # prints messages about dead workers, whatever the options
        internal.print_to_stdstream = lambda *_given, **_named: None
    utilities: Any = importlib.import_module("ray._private.utils")
    if hasattr(utilities, "get_entrypoint_name"):
        utilities.get_entrypoint_name = lambda: "prompt-evaluator"
    return ray
