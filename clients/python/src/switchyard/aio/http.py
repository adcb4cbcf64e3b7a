"""Requests of the API: the key, retries, server-sent events, and errors as exceptions."""

from __future__ import annotations

import uuid
from asyncio import sleep
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import httpx2

from ..errors import error_of
from ..retries import delay_s, is_kept_in_memory, is_worth_retrying
from .events import AsyncEventStream

#: Text, bytes, or pieces of bytes, such as those of an open file.
Content = str | bytes | AsyncIterable[bytes]

CONNECT_S_MAX = 10.0
#: The longest silence of an answer: a model may think for minutes before its first byte.
SILENCE_S_MAX = 600.0
KEY = "idempotency-key"


class AsyncHttp:
    """
    Every POST that is no stream gets an `Idempotency-Key`, so that it runs once however often it is sent.
    It is sent again after a lost connection, and when the answer's `x-should-retry` says that this makes sense.
    """

    def __init__(self, url: str, api_key: str, *, retries_max: int) -> None:
        self.client = httpx2.AsyncClient(
            base_url=url,
            headers={"authorization": f"Bearer {api_key}"},
            timeout=httpx2.Timeout(SILENCE_S_MAX, connect=CONNECT_S_MAX),
        )
        self._retries_max = retries_max

    async def json(self, method: str, path: str, **request: Any) -> Any:
        """The JSON of an answer. @raises SwitchyardError"""
        return (await self.request(method, path, **request)).json()

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
        is_own_key = idempotency_key is None and method == "POST" and not is_stream and self._retries_max > 0
        key = str(uuid.uuid4()) if is_own_key else idempotency_key
        if key is not None:
            request.headers[KEY] = key
        attempt = 0
        waits_until = monotonic() + (self.client.timeout.read or SILENCE_S_MAX)
        can_repeat = self._retries_max > 0 and is_kept_in_memory(request)
        while True:
            may_repeat = can_repeat and attempt < self._retries_max
            runs_once = method in ("GET", "PUT", "DELETE") or KEY in request.headers
            attempt += 1
            try:
                response = await self.client.send(request, stream=is_stream)
            except httpx2.TransportError as lost:
                was_sent = not isinstance(lost, httpx2.ConnectError | httpx2.ConnectTimeout)
                if not may_repeat or (was_sent and (is_stream or not runs_once)):
                    raise
                await sleep(delay_s(attempt, None))
                continue
            if response.is_success:
                return response
            await response.aread()
            await response.aclose()
            error = error_of(response)
            if may_repeat and is_own_key and error.code == "idempotency_quota_exceeded":
                del request.headers[KEY]  # nothing ran; without a key it may run
                continue
            is_running = error.code == "idempotency_in_use"
            if is_running:
                may_repeat = can_repeat and monotonic() < waits_until
            if not (may_repeat and is_worth_retrying(response, runs_once=runs_once)):
                raise error
            await sleep(delay_s(attempt, response.headers.get("retry-after")))
            if is_running:
                attempt -= 1  # waiting for the answer of the first request is no attempt
