"""Types of computer calls, beside the API's own."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

from .errors import SwitchyardError
from .types import ExecEvent as ApiExecEvent


class ExecOptions(TypedDict, total=False):
    cwd: str
    env: dict[str, str]
    stdin: str
    #: Seconds after which the command is stopped.
    timeout: int
    #: What happens to the command when the connection ends; default: `kill`.
    on_disconnect: Literal["kill", "continue"]


@dataclass(frozen=True)
class ExecResult:
    #: What the command wrote, standard error merged in.
    stdout: str
    #: Always empty: a computer merges standard error into `stdout`.
    stderr: str
    exit_code: int
    duration_ms: int


@dataclass(frozen=True)
class ExecStarted:
    exec_id: str
    type: Literal["started"] = "started"


@dataclass(frozen=True)
class ExecOutput:
    data: bytes
    type: Literal["output"] = "output"


@dataclass(frozen=True)
class ExecExit:
    exit_code: int
    duration_ms: int
    type: Literal["exit"] = "exit"


#: What happens to a streamed command, in order; `exit` is the last one.
ExecEvent = ExecStarted | ExecOutput | ExecExit


def exec_event(event: ApiExecEvent) -> ExecEvent:
    if event["type"] == "started":
        return ExecStarted(event["exec_id"])
    if event["type"] == "output":
        data = event["data"]
        return ExecOutput(data.encode() if event["encoding"] == "utf-8" else base64.b64decode(data))
    if event["type"] == "exit":
        return ExecExit(event["exit_code"], event["duration_ms"])
    raise SwitchyardError(event["error"])


class FolderEntry(TypedDict):
    name: str
    type: Literal["file", "folder", "link", "other"]
    bytes: int
    modified_at: str


@dataclass(frozen=True)
class PortLink:
    #: The address; it needs no key, ends with a slash, and takes WebSockets too.
    url: str
    #: From then on it opens no new connections.
    expires_at: datetime
