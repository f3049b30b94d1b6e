"""Baselines: what kernels are compared with besides each other, on the machine that searches.

`peak` is what the machine can do, with any engine; `own_kernels` are TVM's code without a search,
the `first_candidate` of its rules among it; `peers` are other libraries, which `torch_kernels`,
`onnx_kernels` and `numpy_kernels` call, each in a process of its own.
"""

from pytest_ansorbench.yardsticks.own_kernels import own_kernel
from pytest_ansorbench.yardsticks.peak import measure_peak
from pytest_ansorbench.yardsticks.peers import PeerProgram, check_peer, peer_program

__all__ = ["PeerProgram", "check_peer", "measure_peak", "own_kernel", "peer_program"]
