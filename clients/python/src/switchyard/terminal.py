"""A terminal in a computer, over a WebSocket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect


class Terminal:
    """Iterate over it for the output, as bytes. `url` is that of a link to a terminal."""

    def __init__(self, url: str, *, cols: int = 80, rows: int = 24) -> None:
        #: How the shell ended; None while it runs.
        self.exit_code: int | None = None
        self._socket = connect(f"{url}?cols={cols}&rows={rows}", max_size=None)

    def __iter__(self) -> Iterator[bytes]:
        try:
            for message in self._socket:
                if isinstance(message, bytes):
                    yield message
                else:
                    self.exit_code = json.loads(message)["exit_code"]
        except ConnectionClosedError as error:
            raise ConnectionError(f"The terminal was closed: {error}") from error

    def wait(self) -> int:
        """Waits until the shell ends, without its output, and returns how it ended."""
        for _ in self:
            pass
        if self.exit_code is None:
            raise ConnectionError("The terminal was closed before its shell ended.")
        return self.exit_code

    def write(self, input: str | bytes) -> None:
        """Sends keyboard input."""
        self._socket.send(input.encode() if isinstance(input, str) else input)

    def resize(self, *, cols: int, rows: int) -> None:
        self._socket.send(json.dumps({"type": "resize", "cols": cols, "rows": rows}))

    def close(self) -> None:
        """Ends the shell and everything that was started in it."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
