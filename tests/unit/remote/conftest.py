"""Asynchronous tests run on asyncio, as the worker and the command line do."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
