"""The Python client of Switchyard: the whole API with types, and computers as objects; asynchronous in `aio`."""

from . import types
from .aio import (
    AsyncApi,
    AsyncComputer,
    AsyncComputerFiles,
    AsyncComputerPorts,
    AsyncComputers,
    AsyncEventStream,
    AsyncSwitchyard,
    AsyncTerminal,
)
from .api import Api
from .client import Switchyard
from .computer import Computer
from .computers import Computers
from .errors import SwitchyardError
from .events import EventStream
from .files import ComputerFiles
from .ports import ComputerPorts
from .shapes import ExecEvent, ExecExit, ExecOptions, ExecOutput, ExecResult, ExecStarted, FolderEntry, PortLink
from .terminal import Terminal

__all__ = [
    "Api",
    "AsyncApi",
    "AsyncComputer",
    "AsyncComputerFiles",
    "AsyncComputerPorts",
    "AsyncComputers",
    "AsyncEventStream",
    "AsyncSwitchyard",
    "AsyncTerminal",
    "Computer",
    "ComputerFiles",
    "ComputerPorts",
    "Computers",
    "EventStream",
    "ExecEvent",
    "ExecExit",
    "ExecOptions",
    "ExecOutput",
    "ExecResult",
    "ExecStarted",
    "FolderEntry",
    "PortLink",
    "Switchyard",
    "SwitchyardError",
    "Terminal",
    "types",
]
