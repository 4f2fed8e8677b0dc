"""What tests of several rooms share: a service that counts what is paid for, folders to run in, a PostgreSQL server."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from chat_service import ChatService, running_service
from hypothesis import settings
from postgres_server import Cluster, running_cluster
from ray_head import RayHead, shared_head
from workspace import Workspace

from prompt_evaluator.model import REDACTOR
from prompt_evaluator.user_data import DATA_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The same few examples for every change, and each night many new ones (`--hypothesis-profile nightly`).
settings.register_profile("change", max_examples=20, deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", max_examples=500, deadline=None)
settings.load_profile("change")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as with nohup: programs that tests start would not get it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_proxy_of_the_tester(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of tests are on loopback, where a tester's own proxy does not lead."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_data_of_the_tester(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Prices that a tester has fetched are no part of a test."""
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path_factory.getbasetemp() / "no-user-data"))


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> Iterator[None]:
    """A process masks every secret it has ever seen: those of thousands of tests take minutes to look for."""
    known = dict(vars(REDACTOR))
    yield
    vars(REDACTOR).update(known)


@pytest.fixture
def service() -> Iterator[ChatService]:
    with running_service() as service:
        yield service


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Workspace]:
    """A folder without any key: only the mock answers."""
    with closing(Workspace(tmp_path)) as workspace:
        yield workspace


@pytest.fixture
def online(tmp_path: Path, service: ChatService) -> Iterator[Workspace]:
    """A folder whose `openai` is the service."""
    with closing(Workspace(tmp_path, service.environment)) as workspace:
        yield workspace


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Started by the first that asks for it."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def database(cluster: Cluster) -> Iterator[str]:
    """The address of a new, empty database."""
    with cluster.database() as name:
        yield cluster.address(name)


@pytest.fixture(scope="session")
def ray_head() -> RayHead:
    """Started by the first that asks for it. This process is let in as well: Ray reads these variables only once."""
    head = shared_head()
    os.environ.update(head.environment)
    return head
