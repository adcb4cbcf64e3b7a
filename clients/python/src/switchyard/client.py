"""The client: the whole API as its OpenAPI document types it, and computers as objects."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

import httpx2

from .api import Api
from .computers import Computers
from .http import Http

URL_DEFAULT = "http://127.0.0.1:8080"
RETRIES_MAX_DEFAULT = 2


class Switchyard:
    """
    `url` is the address of the API, without `/v1`; default: SWITCHYARD_URL, else the address of `npm start`.
    `api_key` defaults to SWITCHYARD_KEY. `max_retries` bounds how often a request is sent again.
    """

    def __init__(
        self, *, url: str | None = None, api_key: str | None = None, max_retries: int = RETRIES_MAX_DEFAULT
    ) -> None:
        key = api_key or os.environ.get("SWITCHYARD_KEY")
        if not key:
            raise ValueError("No API key. Pass `api_key` or set SWITCHYARD_KEY.")
        self.url = (url or os.environ.get("SWITCHYARD_URL") or URL_DEFAULT).rstrip("/")
        self.api_key = key
        http = Http(self.url, key, retries_max=max_retries)
        #: The connection underneath, with the key: for requests that `api` has no method for.
        self.http: httpx2.Client = http.client
        #: Every endpoint, as a method with the name of its operation.
        self.api = Api(http)
        self.computers = Computers(http)

    def close(self) -> None:
        """Closes the connections."""
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
