"""The Python client of Switchyard: the whole API with types, and computers as objects."""

from . import types
from .api import Api
from .client import Switchyard
from .computer import Computer, ExecEvent, ExecExit, ExecOptions, ExecOutput, ExecResult, ExecStarted
from .computers import Computers
from .errors import SwitchyardError
from .files import ComputerFiles, FolderEntry
from .ports import ComputerPorts, PortLink
from .terminal import Terminal

__all__ = [
    "Api",
    "Computer",
    "ComputerFiles",
    "ComputerPorts",
    "Computers",
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
