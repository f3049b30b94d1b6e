"""Ctrl-C that cannot get lost."""

from __future__ import annotations

import signal
import sys
import threading
import traceback

import pytest

from pytest_ansorbench.bench.interrupts import remembered_interrupts

pytestmark = pytest.mark.usefixtures("ctrl_c")


def test_it_is_raised_where_it_comes_and_again_when_asked_for():
    with remembered_interrupts() as remind:
        remind()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                remind()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_somebody_else_stays():
    heard = []
    usual = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    try:
        with remembered_interrupts() as remind:
            signal.raise_signal(signal.SIGINT)
            remind()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert heard == [True]


def test_another_thread_remembers_nothing():
    asked = []

    def ask():
        with remembered_interrupts() as remind:
            remind()
            asked.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert asked == [signal.default_int_handler]


def test_it_leaves_with_a_traceback_that_pytest_can_report():
    def interrupted():
        signal.raise_signal(signal.SIGINT)

    code = interrupted.__code__
    # From 3.11 on an entry says that up to eight instructions have no line; before, nothing does.
    eights = (len(code.co_code) // 2 + 7) // 8 if sys.version_info >= (3, 11) else 0
    interrupted.__code__ = code.replace(co_linetable=b"\xff" * eights)
    with pytest.raises(KeyboardInterrupt) as caught, remembered_interrupts():
        interrupted()
    assert caught.getrepr(funcargs=True).reprcrash.message == "KeyboardInterrupt"


def test_it_says_where_it_came_if_it_can():
    with pytest.raises(KeyboardInterrupt) as caught, remembered_interrupts():
        signal.raise_signal(signal.SIGINT)
    [*_, (innermost, _)] = traceback.walk_tb(caught.tb)
    assert innermost.f_code.co_name == "remember"
