"""`sy.computers`: creates, finds and lists computers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Unpack

from ..types import Computer as ComputerInfo
from ..types import CreateComputerOptions, CreateComputerRequest, CreationProgress
from .api import AsyncApi
from .computer import AsyncComputer
from .http import AsyncHttp


class AsyncComputers:
    def __init__(self, http: AsyncHttp) -> None:
        self._http = http
        self._api = AsyncApi(http)

    async def create(
        self,
        *,
        on_progress: Callable[[CreationProgress], None] | None = None,
        **options: Unpack[CreateComputerOptions],
    ) -> AsyncComputer:
        """Creates a computer and returns when it runs. As a context manager it is deleted at the end of the block.

        `on_progress` is called while an image is pulled."""
        body: CreateComputerRequest = {"stream": on_progress is not None, **options}
        if on_progress is None:
            return AsyncComputer(self._http, await self._api.create_computer(body))
        async with aclosing(self._api.create_computer_stream(body)) as events:
            async for event in events:
                if event["type"] == "progress":
                    on_progress(event["progress"])
                elif event["type"] == "computer":
                    return AsyncComputer(self._http, event["computer"])
        raise ConnectionError("The connection ended before the computer was created.")

    async def get(self, id: str) -> AsyncComputer:
        """Returns an existing computer."""
        return AsyncComputer(self._http, await self._api.get_computer(id))

    async def list(self) -> list[ComputerInfo]:
        """Returns the computers of your org."""
        return (await self._api.list_computers())["data"]
