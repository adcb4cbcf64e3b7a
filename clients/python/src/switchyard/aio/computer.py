"""One computer: commands, files, ports, terminals, and its life."""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from types import TracebackType
from typing import Self, Unpack

from ..errors import SwitchyardError
from ..shapes import ExecEvent, ExecExit, ExecOptions, ExecOutput, ExecResult, PortLink, exec_event
from ..types import Computer as ComputerInfo
from ..types import CreateLinkRequest, ExecRequest
from .api import AsyncApi
from .files import AsyncComputerFiles
from .http import AsyncHttp
from .terminal import AsyncTerminal


class AsyncComputer:
    """As a context manager it is deleted at the end of the block."""

    def __init__(self, http: AsyncHttp, info: ComputerInfo) -> None:
        self.id = info["id"]
        self.name = info["name"]
        self.files = AsyncComputerFiles(http, self.id)
        self.ports = AsyncComputerPorts(http, self.id)
        self._api = AsyncApi(http)

    async def exec(self, command: str, **options: Unpack[ExecOptions]) -> ExecResult:
        """Runs a shell command and returns all that it wrote. A command that fails returns too, with its exit code.

        Raises SwitchyardError `command_timed_out`, with the output so far in `details["stdout"]`."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        stdout = ""
        try:
            async with aclosing(self.exec_stream(command, **options)) as events:
                async for event in events:
                    if isinstance(event, ExecOutput):
                        stdout += decoder.decode(event.data)
                    elif isinstance(event, ExecExit):
                        stdout += decoder.decode(b"", final=True)
                        return ExecResult(stdout, "", event.exit_code, event.duration_ms)
        except SwitchyardError as error:
            error.details["stdout"] = stdout
            raise
        raise ConnectionError("The connection ended before the command did.")

    async def exec_stream(self, command: str, **options: Unpack[ExecOptions]) -> AsyncGenerator[ExecEvent]:
        """Runs a shell command and yields its output as it is written. A loop in a block of `contextlib.aclosing` ends the
        command as soon as it is left."""
        body: ExecRequest = {"command": command, "stream": True, **options}
        async with aclosing(self._api.exec_in_computer_stream(self.id, body)) as events:
            async for event in events:
                yield exec_event(event)
                if event["type"] == "exit":
                    return
        raise ConnectionError("The connection ended before the command did.")

    async def terminal(self, *, cols: int = 80, rows: int = 24) -> AsyncTerminal:
        """Opens a login shell in /workspace."""
        link = await self._api.create_computer_link(self.id, {"minutes": 1})
        return await AsyncTerminal.open(link["url"], cols=cols, rows=rows)

    async def get_info(self) -> ComputerInfo:
        """Returns the computer's state now."""
        return await self._api.get_computer(self.id)

    async def start(self) -> ComputerInfo:
        """Starts the stopped computer; /workspace is as it was."""
        return await self._api.start_computer(self.id)

    async def stop(self) -> ComputerInfo:
        """Stops the computer and its billing; /workspace stays."""
        return await self._api.stop_computer(self.id)

    async def delete(self) -> None:
        """Deletes the computer and its /workspace. One that is gone counts as deleted, as after a lost answer."""
        try:
            await self._api.delete_computer(self.id)
        except SwitchyardError as refused:
            if refused.code != "computer_not_found":
                raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.delete()
        except Exception as failed:
            if error is None:
                raise
            error.add_note(f"Computer {self.id} could not be deleted: {failed}")


class AsyncComputerPorts:
    """Servers in a computer."""

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
