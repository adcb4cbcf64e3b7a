"""The client: the whole API as its OpenAPI document types it, and computers as objects."""

from __future__ import annotations

from typing import Self

import httpx2

from ..settings import RETRIES_MAX_DEFAULT, key_of, url_of
from .api import AsyncApi
from .computers import AsyncComputers
from .http import AsyncHttp


class AsyncSwitchyard:
    """
    `url` is the address of the API, without `/v1`; default: SWITCHYARD_URL, else the address of `npm start`.
    `api_key` defaults to SWITCHYARD_KEY. `max_retries` bounds how often a request is sent again.
    """

    def __init__(
        self, *, url: str | None = None, api_key: str | None = None, max_retries: int = RETRIES_MAX_DEFAULT
    ) -> None:
        self.url = url_of(url)
        self.api_key = key_of(api_key)
        http = AsyncHttp(self.url, self.api_key, retries_max=max_retries)
        #: The connection underneath, with the key: for requests that `api` has no method for.
        self.http: httpx2.AsyncClient = http.client
        #: Every endpoint, as a method with the name of its operation.
        self.api = AsyncApi(http)
        self.computers = AsyncComputers(http)

    async def close(self) -> None:
        """Closes the connections."""
        await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
