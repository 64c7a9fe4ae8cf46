"""One server for the tests that only ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed (pip install 'vericap[serve]')")
pytest.importorskip("uvicorn", reason="uvicorn is not installed (pip install 'vericap[serve]')")

import served

from vericap.serve.app import Service

if TYPE_CHECKING:
    from served import Client


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with served.serving(Service(), warm=True) as found:
        yield found
