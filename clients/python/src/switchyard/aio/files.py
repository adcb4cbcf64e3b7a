"""Files in a computer's /workspace."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal, overload
from urllib.parse import quote

import httpx2

from ..shapes import FolderEntry
from ..types import WorkspaceWritten
from .api import AsyncApi
from .http import AsyncHttp, Content


class AsyncComputerFiles:
    """Paths are absolute, or relative to /workspace. The computer must be running."""

    def __init__(self, http: AsyncHttp, id: str) -> None:
        self._http = http
        self._api = AsyncApi(http)
        self._id = id

    @overload
    async def read(self, path: str, *, format: Literal["text"] = "text") -> str: ...
    @overload
    async def read(self, path: str, *, format: Literal["bytes"]) -> bytes: ...
    @overload
    async def read(self, path: str, *, format: Literal["stream"]) -> AsyncGenerator[bytes]: ...
    async def read(
        self, path: str, *, format: Literal["text", "bytes", "stream"] = "text"
    ) -> str | bytes | AsyncGenerator[bytes]:
        """Returns a file as text, as bytes, or as a stream."""
        if format == "stream":
            return self._read_stream(path)
        data = b"".join([part async for part in self._read_stream(path)])
        return data if format == "bytes" else data.decode()

    async def write(self, path: str, content: Content) -> WorkspaceWritten:
        """Writes a file whole, or not at all; folders are made as needed."""
        return await self._api.write_computer_file(self._id, content, path=path)

    async def list(self, path: str = "") -> list[FolderEntry]:
        """Returns what is in a folder, by name. Raises RuntimeError for over 10,000 entries: list them with a command."""
        async with self._http.stream("GET", self._path(), query={"path": path}) as response:
            if not _is_folder(response):
                raise NotADirectoryError(f"{path} is a file. Use files.read.")
            await response.aread()
            folder = response.json()
            entries: list[FolderEntry] = folder["entries"]
            if folder["has_more"]:
                raise RuntimeError(f"{path} has over {len(entries)} entries. List them with a command.")
            return entries

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Deletes a file or folder; a folder that is not empty needs `recursive`."""
        await self._api.delete_computer_file(
            self._id, path=path, recursive="true" if recursive else "false"
        )

    async def _read_stream(self, path: str) -> AsyncGenerator[bytes]:
        async with self._http.stream("GET", self._path(), query={"path": path}) as response:
            if _is_folder(response):
                raise IsADirectoryError(f"{path} is a folder. Use files.list.")
            async for part in response.aiter_bytes():
                yield part

    def _path(self) -> str:
        return f"/v1/computers/{quote(self._id, safe='')}/files"


def _is_folder(response: httpx2.Response) -> bool:
    """A file is always sent as an attachment."""
    return "content-disposition" not in response.headers
