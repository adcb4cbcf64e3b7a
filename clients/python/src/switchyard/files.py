"""Files in a computer's /workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypedDict, overload
from urllib.parse import quote

import httpx2

from .api import Api
from .http import Content, Http
from .types import WorkspaceWritten


class FolderEntry(TypedDict):
    name: str
    type: Literal["file", "folder", "link", "other"]
    bytes: int
    modified_at: str


class ComputerFiles:
    """Paths are absolute, or relative to /workspace. The computer must be running."""

    def __init__(self, http: Http, id: str) -> None:
        self._http = http
        self._api = Api(http)
        self._id = id

    @overload
    def read(self, path: str, *, format: Literal["text"] = "text") -> str: ...
    @overload
    def read(self, path: str, *, format: Literal["bytes"]) -> bytes: ...
    @overload
    def read(self, path: str, *, format: Literal["stream"]) -> Iterator[bytes]: ...
    def read(
        self, path: str, *, format: Literal["text", "bytes", "stream"] = "text"
    ) -> str | bytes | Iterator[bytes]:
        """Returns a file as text, as bytes, or as a stream."""
        if format == "stream":
            return self._read_stream(path)
        data = b"".join(self._read_stream(path))
        return data if format == "bytes" else data.decode()

    def write(self, path: str, content: Content) -> WorkspaceWritten:
        """Writes a file whole, or not at all; folders are made as needed."""
        return self._api.write_computer_file(self._id, content, path=path)

    def list(self, path: str = "") -> list[FolderEntry]:
        """Returns what is in a folder, by name."""
        with self._http.stream("GET", self._path(), query={"path": path}) as response:
            if not _is_folder(response):
                raise NotADirectoryError(f"{path} is a file. Use files.read.")
            response.read()
            entries: list[FolderEntry] = response.json()["entries"]
            return entries

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Deletes a file or folder; a folder that is not empty needs `recursive`."""
        self._api.delete_computer_file(self._id, path=path, recursive="true" if recursive else "false")

    def _read_stream(self, path: str) -> Iterator[bytes]:
        with self._http.stream("GET", self._path(), query={"path": path}) as response:
            if _is_folder(response):
                raise IsADirectoryError(f"{path} is a folder. Use files.list.")
            yield from response.iter_bytes()

    def _path(self) -> str:
        return f"/v1/computers/{quote(self._id, safe='')}/files"


def _is_folder(response: httpx2.Response) -> bool:
    """A file is always sent as an attachment."""
    return "content-disposition" not in response.headers
