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

    def matrix(self, x):
        return x @ self._left.popleft()

    def norm(self, x, epsilon=1e-12):
        scale, shift = self._left.popleft(), self._left.popleft()
        return F.layer_norm(x, x.shape[-1:], scale, shift, epsilon)

    def rms_norm(self, x):
        return F.rms_norm(x, x.shape[-1:], self._left.popleft(), 1e-5)

    def array(self):
        return self._left.popleft()

    @property
    def used_up(self):
        return not self._left


def run(network, inputs, arrays):
    """The output of a network of this module for inputs with channels last."""
    weights = Weights(arrays)
    x, *others = map(torch.from_numpy, inputs)
    if x.ndim > 3:
        x = x.movedim(-1, 1)
    with torch.no_grad():
        output = network(weights, x, *others)
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


def attention(w, x, heads):
    batch, length, hidden = x.shape

    def split(y):
        return y.view(batch, length, heads, hidden // heads).transpose(1, 2)

    query, key, value = split(w.dense(x)), split(w.dense(x)), split(w.dense(x))
    attended = F.scaled_dot_product_attention(query, key, value)
    return w.dense(attended.transpose(1, 2).reshape(batch, length, hidden))


def bert_layer(w, x, heads):
    x = w.norm(x + attention(w, x, heads))
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


def excited(w, x, activation, gate):
    weights = gate(w.dense(activation(w.dense(means(x)))))
    return x * weights[:, :, None, None]


def mobilenet_v3(w, x):
    x = F.hardswish(w.conv(x, 2, 1))
    # The rows of table 1 of https://arxiv.org/abs/1905.02244: kernel, widened, channels, squeezed
    # or not, hard swish or not, stride.
    settings = (
        (3, 16, 16, False, False, 1),
        (3, 64, 24, False, False, 2),
        (3, 72, 24, False, False, 1),
        (5, 72, 40, True, False, 2),
        (5, 120, 40, True, False, 1),
        (5, 120, 40, True, False, 1),
        (3, 240, 80, False, True, 2),
        (3, 200, 80, False, True, 1),
        (3, 184, 80, False, True, 1),
        (3, 184, 80, False, True, 1),
        (3, 480, 112, True, True, 1),
        (3, 672, 112, True, True, 1),
        (5, 672, 160, True, True, 2),
        (5, 960, 160, True, True, 1),
        (5, 960, 160, True, True, 1),
    )
    for kernel, wide, channels, squeezed, hard, stride in settings:
        activation = F.hardswish if hard else F.relu
        y = activation(w.conv(x)) if wide != x.shape[1] else x
        y = activation(w.conv(y, stride, kernel // 2, groups=wide))
        if squeezed:
            y = excited(w, y, F.relu, F.hardsigmoid)
        y = w.conv(y)
        assert y.shape[1] == channels
        x = x + y if stride == 1 and x.shape[1] == channels else y
    x = means(F.hardswish(w.conv(x)))
    return probabilities(w.dense(F.hardswish(w.dense(x))))


def efficientnet_b0(w, x):
    x = F.silu(w.conv(x, 2, 1))
    settings = (
        (1, 3, 16, 1, 1),
        (6, 3, 24, 2, 2),
        (6, 5, 40, 2, 2),
        (6, 3, 80, 3, 2),
        (6, 5, 112, 3, 1),
        (6, 5, 192, 4, 2),
        (6, 3, 320, 1, 1),
    )
    for expansion, kernel, channels, repeats, first in settings:
        for repeat in range(repeats):
            stride = first if repeat == 0 else 1
            y = F.silu(w.conv(x)) if expansion != 1 else x
            y = F.silu(w.conv(y, stride, kernel // 2, groups=y.shape[1]))
            y = w.conv(excited(w, y, F.silu, torch.sigmoid))
            x = x + y if stride == 1 and x.shape[1] == channels else y
    return probabilities(w.dense(means(F.silu(w.conv(x)))))


def vit_b16(w, x):
    x = w.conv(x, 16).flatten(2).transpose(1, 2)
    token = w.array().expand(x.shape[0], -1, -1)
    x = torch.cat([token, x], 1) + w.array()
    for _ in range(12):
        x = x + attention(w, w.norm(x, 1e-6), 12)
        x = x + w.dense(F.gelu(w.dense(w.norm(x, 1e-6))))
    return probabilities(w.dense(w.norm(x, 1e-6)[:, 0]))


def convnext_t(w, x):
    def norm(y):
        return w.norm(y.movedim(1, -1), 1e-6)

    for channels, blocks in ((96, 3), (192, 3), (384, 9), (768, 3)):
        x = norm(w.conv(x, 4)) if channels == 96 else w.conv(norm(x).movedim(-1, 1), 2)
        x = x.movedim(-1, 1) if channels == 96 else x
        for _ in range(blocks):
            y = norm(w.conv(x, 1, 3, groups=channels))
            x = x + w.dense(F.gelu(w.dense(y))).movedim(-1, 1)
    return probabilities(w.dense(w.norm(means(x), 1e-6)))


def llama_block(w, x, keys, values, cosine, sine):
    batch, tokens, hidden = x.shape
    *_, past, size = keys.shape

    def heads(y):
        return y.view(batch, tokens, -1, size).transpose(1, 2)

    def rotated(y):
        first, second = y.chunk(2, -1)
        return y * cosine + torch.cat([-second, first], -1) * sine

    normed = w.rms_norm(x)
    query, key, value = (heads(w.matrix(normed)) for _ in range(3))
    keys = torch.cat([keys, rotated(key)], 2)
    values = torch.cat([values, value], 2)
    seen = torch.ones(tokens, past + tokens, dtype=torch.bool).tril(past)
    attended = F.scaled_dot_product_attention(
        rotated(query), keys, values, attn_mask=seen, enable_gqa=True
    )
    x = x + w.matrix(attended.transpose(1, 2).reshape(batch, tokens, hidden))
    normed = w.rms_norm(x)
    return x + w.matrix(F.silu(w.matrix(normed)) * w.matrix(normed))
