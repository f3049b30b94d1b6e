"""What kernels are held against besides each other, measured on the machine that searches.

`peak` is what the machine can do, with any engine; `untuned` is TVM without a search; `libraries`
are vendors' kernels of the same operators, in a process of their own (`library_main`), which
`torch_kernels` and `numpy_kernels` name.
"""

from pytest_ansorbench.yardsticks.libraries import library_kernel
from pytest_ansorbench.yardsticks.peak import measure_peak
from pytest_ansorbench.yardsticks.untuned import untuned_kernel

__all__ = ["library_kernel", "measure_peak", "untuned_kernel"]
