"""MetaSchedule's own functions under pytest."""

from __future__ import annotations

import logging
from contextlib import contextmanager


@contextmanager
def quiet_loggers():
    """Have none of TVM's loggers set up by pytest, and leave none of their files open.

    TVM configures its loggers anew in each call, and trips over handlers without a name, such as
    pytest adds to loggers that do not propagate.
    """
    _forget()
    try:
        yield
    finally:
        _forget()


def tune_tir(*arguments, **parts):
    """The stock function."""
    from tvm.s_tir import meta_schedule as ms

    with quiet_loggers():
        return ms.tune_tir(*arguments, **parts)


def _forget():
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("tvm.s_tir.meta_schedule"):
            logger = logging.getLogger(name)
            for handler in list(logger.handlers):
                logger.removeHandler(handler)
                if handler.get_name():
                    handler.close()
