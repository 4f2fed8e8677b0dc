"""What tests of several rooms share: a PostgreSQL server, started by the first that asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from postgres_server import Cluster, running_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def database(cluster: Cluster) -> Iterator[str]:
    """The address of a new, empty database."""
    with cluster.database() as name:
        yield cluster.address(name)
