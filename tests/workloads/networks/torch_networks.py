"""The built-in networks once more, in PyTorch's functional operators: what they are held to.

Nothing of the package is used here but the order of the weights. Inputs and outputs have their
channels last, as in the package; PyTorch wants them second.
"""

from __future__ import annotations

from collections import deque

import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional


class Weights:
    """Hands out weights in their order."""

    def __init__(self, arrays):
        self._left = deque(torch.from_numpy(array) for array in arrays)

    def conv(self, x, stride=1, padding=0, groups=1):
        kernel, bias = self._left.popleft(), self._left.popleft()
        axes = kernel.ndim - 2
        convolve = {2: F.conv2d, 3: F.conv3d}[axes]
        kernel = kernel.permute(axes + 1, axes, *range(axes))
        return convolve(x, kernel, bias, stride, padding, groups=groups)

    def dense(self, x):
        matrix, bias = self._left.popleft(), self._left.popleft()
        return F.linear(x, matrix.T, bias)

    def norm(self, x):
        scale, shift = self._left.popleft(), self._left.popleft()
        return F.layer_norm(x, x.shape[-1:], scale, shift, 1e-12)

    @property
    def used_up(self):
        return not self._left


def run(network, data, arrays):
    """The output of a network of this module for an input with channels last."""
    weights = Weights(arrays)
    x = torch.from_numpy(data)
    if x.ndim > 3:
        x = x.movedim(-1, 1)
    with torch.no_grad():
        output = network(weights, x)
    assert weights.used_up
    return output.numpy()


def probabilities(x):
    return F.softmax(x, dim=-1)


def means(x):
    return x.flatten(2).mean(2)


def basic_block(w, x, width, stride):
    y = F.relu(w.conv(x, stride, 1))
    y = w.conv(y, 1, 1)
    if stride != 1 or x.shape[1] != width:
        x = w.conv(x, stride)
    return F.relu(x + y)


def resnet18(w, x):
    x = F.max_pool2d(F.relu(w.conv(x, 2, 3)), 3, 2, 1)
    for width in (64, 128, 256, 512):
        x = basic_block(w, x, width, 1 if width == 64 else 2)
        x = basic_block(w, x, width, 1)
    return probabilities(w.dense(means(x)))


def resnet3d18(w, x):
    x = F.max_pool3d(F.relu(w.conv(x, (1, 2, 2), 3)), 3, 2, 1)
    for width in (64, 128, 256, 512):
        x = basic_block(w, x, width, 1 if width == 64 else 2)
        x = basic_block(w, x, width, 1)
    return probabilities(w.dense(means(x)))


def resnet50(w, x):
    x = F.max_pool2d(F.relu(w.conv(x, 2, 3)), 3, 2, 1)
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and width != 64 else 1
            y = F.relu(w.conv(x, stride))
            y = F.relu(w.conv(y, 1, 1))
            y = w.conv(y)
            shortcut = w.conv(x, stride) if block == 0 else x
            x = F.relu(y + shortcut)
    return probabilities(w.dense(means(x)))


def mobilenet_v1(w, x):
    x = F.relu(w.conv(x, 2, 1))
    strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1]
    for stride in strides:
        x = F.relu(w.conv(x, stride, 1, groups=x.shape[1]))
        x = F.relu(w.conv(x))
    return probabilities(w.dense(means(x)))


def mobilenet_v2(w, x):
    x = F.relu6(w.conv(x, 2, 1))
    settings = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for expansion, channels, repeats, first in settings:
        for repeat in range(repeats):
            stride = first if repeat == 0 else 1
            y = F.relu6(w.conv(x)) if expansion != 1 else x
            y = F.relu6(w.conv(y, stride, 1, groups=y.shape[1]))
            y = w.conv(y)
            x = x + y if stride == 1 and x.shape[1] == channels else y
    x = F.relu6(w.conv(x))
    return probabilities(w.dense(means(x)))


def squeezenet11(w, x):
    x = F.max_pool2d(F.relu(w.conv(x, 2)), 3, 2, ceil_mode=True)
    for fire in range(8):
        if fire in (2, 4):
            x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        x = F.relu(w.conv(x))
        x = torch.cat([F.relu(w.conv(x)), F.relu(w.conv(x, 1, 1))], 1)
    return probabilities(means(F.relu(w.conv(x))))


def vgg16(w, x):
    for convolutions in (2, 2, 3, 3, 3):
        for _ in range(convolutions):
            x = F.relu(w.conv(x, 1, 1))
        x = F.max_pool2d(x, 2)
    # The package flattens with channels last.
    x = x.permute(0, 2, 3, 1).flatten(1)
    x = F.relu(w.dense(x))
    x = F.relu(w.dense(x))
    return probabilities(w.dense(x))


def mlp(w, x):
    return probabilities(w.dense(F.relu(w.dense(F.relu(w.dense(x))))))


def bert_layer(w, x, heads):
    batch, length, hidden = x.shape

    def split(y):
        return y.view(batch, length, heads, hidden // heads).transpose(1, 2)

    query, key, value = split(w.dense(x)), split(w.dense(x)), split(w.dense(x))
    attended = F.scaled_dot_product_attention(query, key, value)
    attended = attended.transpose(1, 2).reshape(batch, length, hidden)
    x = w.norm(x + w.dense(attended))
    return w.norm(x + w.dense(F.gelu(w.dense(x))))


def inception_v3(w, x):
    def conv(y, stride=1, padding=0):
        return F.relu(w.conv(y, stride, padding))

    def pooled(y):
        return conv(F.avg_pool2d(y, 3, 1, 1))

    x = conv(conv(conv(x, 2)), 1, 1)
    x = F.max_pool2d(x, 3, 2)
    x = conv(conv(x))
    x = F.max_pool2d(x, 3, 2)
    for _ in range(3):
        a = conv(x)
        b = conv(conv(x), 1, 2)
        c = conv(conv(conv(x), 1, 1), 1, 1)
        x = torch.cat([a, b, c, pooled(x)], 1)
    a = conv(x, 2)
    b = conv(conv(conv(x), 1, 1), 2)
    x = torch.cat([a, b, F.max_pool2d(x, 3, 2)], 1)
    across, down = (0, 3), (3, 0)
    for _ in range(4):
        a = conv(x)
        b = conv(conv(conv(x), 1, across), 1, down)
        c = conv(conv(conv(conv(conv(x), 1, down), 1, across), 1, down), 1, across)
        x = torch.cat([a, b, c, pooled(x)], 1)
    a = conv(conv(x), 2)
    b = conv(conv(conv(conv(x), 1, across), 1, down), 2)
    x = torch.cat([a, b, F.max_pool2d(x, 3, 2)], 1)
    for _ in range(2):
        narrow = conv(x)
        deep = conv(conv(x), 1, 1)
        a = conv(x)
        b = torch.cat([conv(narrow, 1, (0, 1)), conv(narrow, 1, (1, 0))], 1)
        c = torch.cat([conv(deep, 1, (0, 1)), conv(deep, 1, (1, 0))], 1)
        x = torch.cat([a, b, c, pooled(x)], 1)
    return probabilities(w.dense(means(x)))
