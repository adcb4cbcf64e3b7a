"""`sy.computers`: creates, finds and lists computers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, Unpack

from .api import Api
from .computer import Computer
from .http import Http
from .types import Computer as ComputerInfo
from .types import CreateComputerRequest, CreationProgress


class CreateComputerOptions(TypedDict, total=False):
    name: str
    image: str
    cpu: float
    memory_mb: int
    metadata: dict[str, str]


class Computers:
    def __init__(self, http: Http) -> None:
        self._http = http
        self._api = Api(http)

    def create(
        self,
        *,
        on_progress: Callable[[CreationProgress], None] | None = None,
        **options: Unpack[CreateComputerOptions],
    ) -> Computer:
        """Creates a computer and returns when it runs. `with` deletes it at the end of the block.

        `on_progress` is called while an image is pulled."""
        body: CreateComputerRequest = {"stream": on_progress is not None, **options}
        if on_progress is None:
            return Computer(self._http, self._api.create_computer(body))
        for event in self._api.create_computer_stream(body):
            if event["type"] == "progress":
                on_progress(event["progress"])
            elif event["type"] == "computer":
                return Computer(self._http, event["computer"])
        raise ConnectionError("The connection ended before the computer was created.")

    def get(self, id: str) -> Computer:
        """Returns an existing computer."""
        return Computer(self._http, self._api.get_computer(id))

    def list(self) -> list[ComputerInfo]:
        """Returns the computers of your org."""
        return self._api.list_computers()["data"]
