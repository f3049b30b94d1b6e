"""Baselines: what kernels are compared with besides each other, on the machine that searches.

`peak` is what the machine can do, with any engine; `untuned` is TVM's code without a search;
`peers` are other libraries, which `torch_kernels`, `onnx_kernels` and `numpy_kernels` call, each in
a process of its own.
"""

from pytest_ansorbench.yardsticks.peak import measure_peak
from pytest_ansorbench.yardsticks.peers import PeerProgram, peer_program
from pytest_ansorbench.yardsticks.untuned import untuned_kernel

__all__ = ["PeerProgram", "measure_peak", "peer_program", "untuned_kernel"]
