"""Servers in a computer."""

from __future__ import annotations

from datetime import datetime

from ..shapes import PortLink
from ..types import CreateLinkRequest
from .api import AsyncApi
from .http import AsyncHttp


class AsyncComputerPorts:
    def __init__(self, http: AsyncHttp, id: str) -> None:
        self._api = AsyncApi(http)
        self._id = id

    async def link(self, port: int, *, minutes: int | None = None) -> PortLink:
        """Returns an address of a port for browsers and for people without a key."""
        body: CreateLinkRequest = {"port": port}
        if minutes is not None:
            body["minutes"] = minutes
        link = await self._api.create_computer_link(self._id, body)
        return PortLink(link["url"], datetime.fromisoformat(link["expires_at"]))
