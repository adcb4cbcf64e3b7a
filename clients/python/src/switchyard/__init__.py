"""The Python client of Switchyard: the whole API with types, and computers as objects; asynchronous as `Async…`."""

from . import types
from .aio.api import AsyncApi
from .aio.client import AsyncSwitchyard
from .aio.computer import AsyncComputer, AsyncComputerPorts
from .aio.computers import AsyncComputers
from .aio.events import AsyncEventStream
from .aio.files import AsyncComputerFiles
from .aio.terminal import AsyncTerminal
from .api import Api
from .client import Switchyard
from .computer import Computer, ComputerPorts
from .computers import Computers
from .errors import SwitchyardError
from .events import EventStream
from .files import ComputerFiles
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
