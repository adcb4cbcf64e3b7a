"""A terminal in a computer, over a WebSocket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError

#: Messages of output that wait to be read. Beyond them the shell waits for its reader. When that lasts for a minute, the
#: connection counts as dead, because pings and pongs wait behind the output.
UNREAD_MESSAGES_MAX = 1_024


class AsyncTerminal:
    """Iterate over it for the output, as bytes."""

    def __init__(self, socket: ClientConnection) -> None:
        #: How the shell ended; None while it runs.
        self.exit_code: int | None = None
        self._socket = socket

    @classmethod
    async def open(cls, url: str, *, cols: int = 80, rows: int = 24) -> Self:
        """Opens a terminal by the `url` of a link to one."""
        address = f"{url}?cols={cols}&rows={rows}"
        return cls(await connect(address, max_size=None, max_queue=UNREAD_MESSAGES_MAX))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for message in self._socket:
                if isinstance(message, bytes):
                    yield message
                else:
                    self.exit_code = json.loads(message)["exit_code"]
        except ConnectionClosedError as error:
            raise ConnectionError(f"The terminal was closed: {error}") from error

    async def wait(self) -> int:
        """Waits until the shell ends, without its output, and returns how it ended."""
        async for _ in self:
            pass
        if self.exit_code is None:
            raise ConnectionError("The terminal was closed before its shell ended.")
        return self.exit_code

    async def write(self, input: str | bytes) -> None:
        """Sends keyboard input."""
        await self._socket.send(input.encode() if isinstance(input, str) else input)

    async def resize(self, *, cols: int, rows: int) -> None:
        await self._socket.send(json.dumps({"type": "resize", "cols": cols, "rows": rows}))

    async def close(self) -> None:
        """Ends the shell and everything that was started in it."""
        await self._socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
