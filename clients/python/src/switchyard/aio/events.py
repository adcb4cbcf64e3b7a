"""The events of an answer that is a stream."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Self, TypeVar

import httpx2

from ..errors import SwitchyardError

T = TypeVar("T")


class LastId:
    """Separate, so that Python closes the stream as soon as nothing refers to it."""

    id: str | None = None


class AsyncEventStream(Generic[T]):
    """
    Iterate over it for the JSON of each event; may raise SwitchyardError. A loop in a block of `contextlib.aclosing` ends
    the request as soon as it is left.
    """

    def __init__(self, answer: AbstractAsyncContextManager[httpx2.Response]) -> None:
        self._last = LastId()
        self._events = read_events(answer, self._last)

    @property
    def position(self) -> str | None:
        """Of the last event: `since` resumes after it. None in streams that cannot be resumed."""
        return self._last.id

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        event: T = await anext(self._events)
        return event

    async def aclose(self) -> None:
        """Ends the request."""
        await self._events.aclose()


async def read_events(
    answer: AbstractAsyncContextManager[httpx2.Response], last: LastId
) -> AsyncGenerator[Any]:
    async with answer as response:
        async for event in httpx2.EventSource(response, max_event_size=None):
            last.id = event.id or last.id
            if event.data == "[DONE]":
                return
            if event.data == "":  # only an id
                continue
            data = json.loads(event.data)
            if isinstance(data, dict) and isinstance(data.get("error"), dict):
                raise SwitchyardError(data["error"], request_id=response.headers.get("x-request-id"))
            yield data
