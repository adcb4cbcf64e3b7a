"""The asynchronous client. The modules beside this folder are generated from those in it."""

from .api import AsyncApi
from .client import AsyncSwitchyard
from .computer import AsyncComputer
from .computers import AsyncComputers
from .events import AsyncEventStream
from .files import AsyncComputerFiles
from .ports import AsyncComputerPorts
from .terminal import AsyncTerminal

__all__ = [
    "AsyncApi",
    "AsyncComputer",
    "AsyncComputerFiles",
    "AsyncComputerPorts",
    "AsyncComputers",
    "AsyncEventStream",
    "AsyncSwitchyard",
    "AsyncTerminal",
]
