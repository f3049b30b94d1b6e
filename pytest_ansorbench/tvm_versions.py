"""The versions of TVM that this package was tested with, and the ffi package that each takes.

Wheels of apache-tvm declare no upper bound for apache-tvm-ffi, and not every pair works: with
0.1.15 and TVM 0.27 making a `TuneContext` is a segmentation fault, and 0.1.13 does not load under
TVM 0.25. A version outside of these, such as a build from source, is not refused but warned of:
its users know which ffi it was built with.
"""

from __future__ import annotations

import warnings
from importlib import metadata
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from pytest_ansorbench.causes import ToolchainError

TVM: Final = "apache-tvm"
FFI: Final = "apache-tvm-ffi"
FFI_OF: Final = {
    "0.27": ">=0.1.14.post0,<0.1.15",
    "0.26": ">=0.1.14.post1,<0.1.15",
    "0.25": ">=0.1.12,<0.1.13",
}
"""By minor version of TVM, the newest first, versions of the ffi package that work with it."""
NEWEST: Final = next(iter(FFI_OF))
OLDEST: Final = [*FFI_OF][-1]


class UntestedVersionWarning(UserWarning):
    """A version of TVM that nobody has tried this package with."""


def check_pair() -> None:
    """Check that TVM and its ffi package are there and fit together; imports neither.

    ToolchainError if TVM is older than what was tested, or would crash with this ffi package; a
    warning if it is newer, or a build without a version.
    """
    tvm = _installed(TVM)
    if tvm is None:
        if _is_importable():
            _warn("TVM was not installed as a package and has no version to go by")
            return
        raise ToolchainError(f"{TVM} is not installed: {_cure(NEWEST)}")
    minor = f"{tvm.major}.{tvm.minor}"
    if minor not in FFI_OF or tvm.is_devrelease:
        if tvm < Version(OLDEST):
            raise ToolchainError(f"{TVM} {tvm} has no tvm.s_tir.meta_schedule: {_cure(NEWEST)}")
        _warn(f"{TVM} {tvm} is none of the versions that were tested")
        return
    ffi = _installed(FFI)
    if ffi is None:
        raise ToolchainError(f"{FFI} is not installed: {_cure(minor)}")
    if not SpecifierSet(FFI_OF[minor]).contains(ffi, prereleases=True):
        raise ToolchainError(
            f"{FFI} {ffi} does not work with {TVM} {tvm}, MetaSchedule would crash: {_cure(minor)}"
        )


def _installed(name: str) -> Version | None:
    try:
        return Version(metadata.version(name))
    except metadata.PackageNotFoundError:
        return None


def _is_importable() -> bool:
    from importlib.util import find_spec

    return find_spec("tvm") is not None


def _cure(minor: str) -> str:
    return f"pip install '{TVM}=={minor}.*' '{FFI}{FFI_OF[minor]}'"


def _warn(reason: str) -> None:
    tested = ", ".join(f"{minor} with {FFI} {ffi}" for minor, ffi in FFI_OF.items())
    warnings.warn(UntestedVersionWarning(f"{reason}: {tested}"), stacklevel=4)
