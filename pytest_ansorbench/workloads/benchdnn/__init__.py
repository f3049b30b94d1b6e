"""Problems of oneDNN's benchdnn as cases: its descriptors, and its batch files.

The formats are told by
https://github.com/uxlfoundation/oneDNN/tree/main/tests/benchdnn/doc (`driver_*.md`, `knobs_*.md`)
and, what is left out of a descriptor, by `tests/benchdnn/conv/conv_aux.cpp` there: an image is
square, a batch is of 2, a padding is what the output asks for.

What a problem does not name is as the operators of this package have it: channels last, no bias of
a convolution, both scale and shift of a norm. What it names and they have not is refused.
"""
