"""Baselines: what kernels are compared with besides each other, on the machine that searches.

`peak` is what the machine can do, with any engine; `reference_kernels` are TVM's code without a
search, and vendors' kernels of the same operators, which `torch_kernels` and `numpy_kernels` name.
"""

from pytest_ansorbench.yardsticks.peak import measure_peak
from pytest_ansorbench.yardsticks.reference_kernels import library_kernel, untuned_kernel

__all__ = ["library_kernel", "measure_peak", "untuned_kernel"]
