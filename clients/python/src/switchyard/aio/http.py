"""Requests of the API: the key, retries, server-sent events, and errors as exceptions."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from ..errors import error_of
from ..retries import KEY, Retries
from .events import AsyncEventStream

#: Text, bytes, or pieces of bytes, such as those of an open file.
Content = str | bytes | AsyncIterable[bytes]

CONNECT_S_MAX = 10.0
#: The longest silence of an answer: a model may think for minutes before its first byte.
SILENCE_S_MAX = 600.0


class AsyncHttp:
    def __init__(self, url: str, api_key: str, *, retries_max: int) -> None:
        self.client = httpx2.AsyncClient(
            base_url=url,
            headers={"authorization": f"Bearer {api_key}"},
            timeout=httpx2.Timeout(SILENCE_S_MAX, connect=CONNECT_S_MAX),
        )
        self._retries_max = retries_max

    async def json(self, method: str, path: str, **request: Any) -> Any:
        """The JSON of an answer, or its text if it is not JSON. @raises SwitchyardError"""
        response = await self.request(method, path, **request)
        is_text = "json" not in response.headers.get("content-type", "json")
        return response.text if is_text else response.json()

    async def request(self, method: str, path: str, **request: Any) -> httpx2.Response:
        """An answer whose body was read. @raises SwitchyardError"""
        return await self._send(method, path, is_stream=False, **request)

    @asynccontextmanager
    async def stream(self, method: str, path: str, **request: Any) -> AsyncIterator[httpx2.Response]:
        """An answer whose body is read in the block; leaving the block ends the request. @raises SwitchyardError"""
        response = await self._send(method, path, is_stream=True, **request)
        try:
            yield response
        finally:
            await response.aclose()

    def events(self, method: str, path: str, **request: Any) -> AsyncEventStream[Any]:
        """The events of an answer that is a stream of them."""
        return AsyncEventStream(self.stream(method, path, **request))

    async def _send(
        self,
        method: str,
        path: str,
        *,
        is_stream: bool,
        query: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        **body: Any,
    ) -> httpx2.Response:
        params = {name: value for name, value in (query or {}).items() if value is not None}
        request = self.client.build_request(method, path, params=params, **body)
        if idempotency_key is not None:
            request.headers[KEY] = idempotency_key
        wait_s_max = self.client.timeout.read or SILENCE_S_MAX
        retries = Retries(request, self._retries_max, is_stream=is_stream, wait_s_max=wait_s_max)
        while True:
            try:
                response = await self.client.send(request, stream=is_stream)
            except httpx2.TransportError as lost:
                delay_s = retries.after_loss(lost)
                if delay_s is None:
                    raise
            else:
                if response.is_success:
                    return response
                await response.aread()
                await response.aclose()
                error = error_of(response)
                delay_s = retries.after_error(error, response)
                if delay_s is None:
                    raise error
            await sleep(delay_s)
