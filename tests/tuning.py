"""Stock `tune_tir` under pytest."""

from __future__ import annotations

import logging


def tune_tir(*arguments, **parts):
    """Call it with none of its loggers set up by pytest, and leave none of its files open.

    TVM configures its loggers anew in each call, and trips over handlers without a name, such as
    pytest adds to loggers that do not propagate.
    """
    from tvm.s_tir import meta_schedule as ms

    _forget()
    try:
        return ms.tune_tir(*arguments, **parts)
    finally:
        _forget()


def _forget():
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("tvm.s_tir.meta_schedule"):
            logger = logging.getLogger(name)
            for handler in list(logger.handlers):
                logger.removeHandler(handler)
                if handler.get_name():
                    handler.close()
