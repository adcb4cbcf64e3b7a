from collections.abc import Iterator

import pytest

from switchyard import Computer, Switchyard


@pytest.fixture(scope="session")
def sy() -> Iterator[Switchyard]:
    with Switchyard() as client:
        yield client


@pytest.fixture(scope="session")
def computer(sy: Switchyard) -> Iterator[Computer]:
    with sy.computers.create(name="tested", cpu=0.25, memory_mb=512) as computer:
        yield computer


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
