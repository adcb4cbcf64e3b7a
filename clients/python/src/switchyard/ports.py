"""Servers in a computer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .api import Api
from .http import Http
from .types import CreateLinkRequest


@dataclass(frozen=True)
class PortLink:
    #: The address; it needs no key, ends with a slash, and takes WebSockets too.
    url: str
    #: From then on it opens no new connections.
    expires_at: datetime


class ComputerPorts:
    def __init__(self, http: Http, id: str) -> None:
        self._api = Api(http)
        self._id = id

    def link(self, port: int, *, minutes: int | None = None) -> PortLink:
        """Returns an address of a port for browsers and for people without a key."""
        body: CreateLinkRequest = {"port": port}
        if minutes is not None:
            body["minutes"] = minutes
        link = self._api.create_computer_link(self._id, body)
        return PortLink(link["url"], datetime.fromisoformat(link["expires_at"]))
