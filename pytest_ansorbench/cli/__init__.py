"""The `ansor-bench` command: tunes, looks at what there is to run and at what was saved.

Exit codes: 0 all gates of a shown result hold (or it has none), 1 one is broken, 2 wrong usage
or an unreadable file, 3 one is undecided and none broken, shards are missing from a merge, or it
was interrupted. `kernels` has those that `git bisect run` understands, 125 for 3; `tune` has 1
where no schedule works, and `landscape check` where a file is not as it should be.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import sys
from collections.abc import Sequence

from pytest_ansorbench.cli import (
    history,
    journals,
    kernels,
    landscape,
    offers,
    plot,
    results,
    schedules,
    tournament,
    training,
    tune,
)
from pytest_ansorbench.cli.exits import ERROR, INTERRUPTED, UNDECIDED, sentence

__all__ = ["main", "make_parser"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with the words of a command line; gives the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Of a character that a terminal cannot show it gets the number.
        sys.stdout.reconfigure(errors="backslashreplace")
    given = make_parser().parse_args(arguments)
    # A large result is millions of objects, all of them needed to the end: the garbage collector
    # would go through them again and again.
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        code = int(given.run(given))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output has seen enough, as in `ansor-bench cases | head`.
        sys.stderr.close()
        return ERROR
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        return UNDECIDED
    except Exception as error:
        message = sentence(error)
        if message is None:
            raise
        from pytest_ansorbench.report.render.text import printable

        print(f"ansor-bench: {printable(message)}", file=sys.stderr)
        _end_output()
        return ERROR
    finally:
        if was_collecting:
            gc.enable()


def _end_output() -> None:
    """Have what could not be printed not tried again when Python ends, which it would tell of."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            sys.stdout.close()


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands; what it returns has a `run` that takes it."""
    parser = argparse.ArgumentParser(
        prog="ansor-bench",
        description="Makes models faster; looks at tuning cases, strategies and saved results. "
        "Searches are compared with pytest --ansor-bench.",
        epilog="exit codes: 0 gates hold or there are none, 1 a gate is broken, "
        "2 usage or tool error, 3 a gate is undecided, or interrupted; kernels and tune have "
        "their own",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    tune.add_command(commands)
    results.add_commands(commands)
    history.add_command(commands)
    tournament.add_command(commands)
    plot.add_command(commands)
    schedules.add_commands(commands)
    kernels.add_command(commands)
    journals.add_commands(commands)
    landscape.add_commands(commands)
    offers.add_commands(commands)
    training.add_commands(commands)
    return parser
