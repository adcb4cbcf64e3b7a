"""One computer: commands, files, ports, terminals, and its life."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self, TypedDict, Unpack

from .api import Api
from .errors import SwitchyardError
from .files import ComputerFiles
from .http import Http
from .ports import ComputerPorts
from .terminal import Terminal
from .types import Computer as ComputerInfo
from .types import ExecEvent as ApiExecEvent
from .types import ExecRequest


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


class Computer:
    """In a `with` statement it is deleted at the end of the block."""

    def __init__(self, http: Http, info: ComputerInfo) -> None:
        self.id = info["id"]
        self.name = info["name"]
        self.files = ComputerFiles(http, self.id)
        self.ports = ComputerPorts(http, self.id)
        self._api = Api(http)

    def exec(self, command: str, **options: Unpack[ExecOptions]) -> ExecResult:
        """Runs a shell command and returns all that it wrote. A command that fails returns too, with its exit code.

        Raises SwitchyardError `command_timed_out`, with the output so far in `details["stdout"]`."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        stdout = ""
        try:
            for event in self.exec_stream(command, **options):
                if isinstance(event, ExecOutput):
                    stdout += decoder.decode(event.data)
                elif isinstance(event, ExecExit):
                    stdout += decoder.decode(b"", final=True)
                    return ExecResult(stdout, "", event.exit_code, event.duration_ms)
        except SwitchyardError as error:
            error.details["stdout"] = stdout
            raise
        raise ConnectionError("The connection ended before the command did.")

    def exec_stream(self, command: str, **options: Unpack[ExecOptions]) -> Iterator[ExecEvent]:
        """Runs a shell command and yields its output as it is written. Leaving the loop ends the command."""
        body: ExecRequest = {"command": command, "stream": True, **options}
        for event in self._api.exec_in_computer_stream(self.id, body):
            yield _exec_event(event)
            if event["type"] == "exit":
                return
        raise ConnectionError("The connection ended before the command did.")

    def terminal(self, *, cols: int = 80, rows: int = 24) -> Terminal:
        """Opens a login shell in /workspace."""
        link = self._api.create_computer_link(self.id, {"minutes": 1})
        return Terminal(link["url"], cols=cols, rows=rows)

    def get_info(self) -> ComputerInfo:
        """Returns the computer's state now."""
        return self._api.get_computer(self.id)

    def start(self) -> ComputerInfo:
        """Starts the stopped computer; /workspace is as it was."""
        return self._api.start_computer(self.id)

    def stop(self) -> ComputerInfo:
        """Stops the computer and its minutes; /workspace stays."""
        return self._api.stop_computer(self.id)

    def delete(self) -> None:
        """Deletes the computer and its /workspace."""
        self._api.delete_computer(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.delete()


def _exec_event(event: ApiExecEvent) -> ExecEvent:
    if event["type"] == "started":
        return ExecStarted(event["exec_id"])
    if event["type"] == "output":
        data = event["data"]
        return ExecOutput(data.encode() if event["encoding"] == "utf-8" else base64.b64decode(data))
    if event["type"] == "exit":
        return ExecExit(event["exit_code"], event["duration_ms"])
    raise SwitchyardError(event["error"])
