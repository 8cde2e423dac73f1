"""What the standard library expects of a system and WASI does not have."""

import asyncio
import errno
import os
import queue
import socket
import threading
import time
from asyncio import base_events, unix_events

import _socket
import _thread


class Lock:
    """threading.Lock for the only thread there is. The build's own traps when it has to wait."""

    __slots__ = ("_lock", "locked", "release", "__weakref__")
    __module__ = "threading"

    def __init__(self):
        self._lock = _thread.allocate_lock()
        self.locked, self.release = self._lock.locked, self._lock.release

    def acquire(self, blocking=True, timeout=-1):
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if self._lock.acquire(False):
            return True
        # Held, and there is no one to release it: wait out the time, or until stopped.
        while blocking and timeout == -1:
            time.sleep(3600)
        if blocking:
            time.sleep(timeout)
        return False

    __enter__ = acquire

    def __exit__(self, *exc_info):
        self.release()

    def __repr__(self):
        return repr(self._lock)


threading.Lock = threading._allocate_lock = Lock
queue.SimpleQueue = queue._PySimpleQueue  # it waits with those locks


class Timers:
    """What an event loop waits on, in place of a selector: time passes, nothing else happens."""

    def select(self, timeout):
        # None is to wait for an event from outside, which cannot come: wait to be stopped.
        if timeout is None or timeout > 0:
            time.sleep(3600 if timeout is None else timeout)
        return ()


class TimerEventLoop(base_events.BaseEventLoop):
    """An event loop with timers alone: no sockets, pipes, processes, signals or threads."""

    __module__ = "asyncio"

    def __init__(self):
        super().__init__()
        self._selector = Timers()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass  # call_soon_threadsafe: with no other thread, the loop is never asleep

    def run_in_executor(self, executor, func, *args):
        """The default executor is the loop itself, which makes the call between two tasks."""
        if executor is not None or self._default_executor is not None:
            return super().run_in_executor(executor, func, *args)
        self._check_closed()
        future = self.create_future()
        self.call_soon(self._run_inline, future, func, args)
        return future

    @staticmethod
    def _run_inline(future, func, args):
        if future.cancelled():
            return
        try:
            result = func(*args)
        except BaseException as exc:
            future.set_exception(exc.with_traceback(exc.__traceback__.tb_next))  # without this frame
        else:
            future.set_result(result)


for module in (asyncio, unix_events):
    module.SelectorEventLoop = module.EventLoop = TimerEventLoop
unix_events._UnixDefaultEventLoopPolicy._loop_factory = TimerEventLoop


def no_network(*args, **kwargs):
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


# Left out of this build; their callers expect an OSError, not an AttributeError.
for name in ("getaddrinfo", "gethostbyaddr", "gethostbyname", "gethostbyname_ex", "getnameinfo"):
    if not hasattr(_socket, name):
        setattr(_socket, name, no_network)
        if not hasattr(socket, name):
            setattr(socket, name, no_network)
