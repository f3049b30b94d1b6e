"""Ctrl-C that cannot get lost, and stops that are noticed."""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType

Reminder = Callable[[], None]  # raises KeyboardInterrupt if there was one that nobody has seen


@contextlib.contextmanager
def remembered_interrupts() -> Iterator[Reminder]:
    """Remember Ctrl-C for as long as a block lasts.

    Python raises KeyboardInterrupt wherever the main thread happens to be. If that is a finalizer
    or a callback of the garbage collector, the exception is printed and dropped
    (https://docs.python.org/3/library/signal.html#note-on-signal-handlers-and-exceptions), and the
    session would go on. A client of a cluster, which makes objects by the hundred while it waits,
    is often there.

    It is also raised where an instruction has no line, as at the end of some loops
    (https://github.com/python/cpython/issues/107901). pytest fails over that while it reports the
    interrupt, and a session that was interrupted passes for one that was not. So such an interrupt
    leaves the block as a new one, whose traceback begins here.

    Elsewhere than in the main thread, and where Ctrl-C is ignored or handled otherwise, nothing is
    remembered.
    """
    came = False
    usual = signal.getsignal(signal.SIGINT)

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.default_int_handler(number, frame)

    def remind() -> None:
        if came:
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or usual is not signal.default_int_handler:
        yield remind
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield remind
    except KeyboardInterrupt as interrupt:
        if any(line is None for _, line in traceback.walk_tb(interrupt.__traceback__)):
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, usual)


class Stops:
    """Notices that this process was stopped and goes on, as by Ctrl-Z and `fg`.

    Elsewhere than in the main thread nothing is noticed.
    """

    def __init__(self) -> None:
        self._came = False
        self._usual: signal._HANDLER = None

    def watch(self) -> None:
        """Begin to notice. Does nothing where that is done."""
        main = threading.current_thread() is threading.main_thread()
        if main and hasattr(signal, "SIGCONT") and self._usual is None:
            self._usual = signal.signal(signal.SIGCONT, self._note)

    def came(self) -> bool:
        """Whether it was stopped since this was asked last."""
        came, self._came = self._came, False
        return came

    def close(self) -> None:
        """Leave the signal to who had it before."""
        if self._usual is not None:
            signal.signal(signal.SIGCONT, self._usual)
            self._usual = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True
