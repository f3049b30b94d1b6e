"""The layers of today's models, and what others tune: cases beside the operators of Ansor's paper.

Sizes are of two cores: where a layer is too large for them, it is one shard of several that
tensor parallelism makes of it, or has fewer tokens, as said.
"""

from __future__ import annotations

from typing import Final

from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.attention import Attention, Rope
from pytest_ansorbench.workloads.operators.batch_matmul import BatchMatmul
from pytest_ansorbench.workloads.operators.conv2d import Conv2d
from pytest_ansorbench.workloads.operators.dense import Dense, SwiGlu
from pytest_ansorbench.workloads.operators.depthwise_conv2d import DepthwiseConv2d
from pytest_ansorbench.workloads.operators.gathered import BlockSparseDense, Embedding, Moe
from pytest_ansorbench.workloads.operators.normalization import GroupNorm, LayerNorm, RmsNorm
from pytest_ansorbench.workloads.operators.packed import PackedConv2d, PackedDense
from pytest_ansorbench.workloads.operators.pooling import AvgPool2d, GlobalAvgPool2d, MaxPool2d
from pytest_ansorbench.workloads.operators.ranking import ArgMax, TopK


def _llama_1b(tokens: int) -> tuple[Operator, ...]:
    """Products and attention of Llama-3.2-1B, of the last tokens of 256."""
    return (
        # The projections to queries, keys and values,
        Dense(m=tokens, n=3072, k=2048),
        Attention(
            batch=1, heads=32, key_heads=8, queries=tokens, keys=256, size=64, causal=tokens > 1
        ),
        # and that of what the heads have found.
        Dense(m=tokens, n=2048, k=2048),
        SwiGlu(m=tokens, n=8192, k=2048),
        Dense(m=tokens, n=2048, k=8192),
    )


def _llama_8b(tokens: int) -> tuple[Operator, ...]:
    """The same of Llama-3-8B, one of eight shards: four heads, an eighth of each width."""
    return (
        Dense(m=tokens, n=768, k=4096),
        Attention(
            batch=1, heads=4, key_heads=1, queries=tokens, keys=256, size=128, causal=tokens > 1
        ),
        Dense(m=tokens, n=4096, k=512),
        SwiGlu(m=tokens, n=1792, k=4096),
        Dense(m=tokens, n=4096, k=1792),
    )


LLM: Final[tuple[Operator, ...]] = (
    # A prompt's last 32 tokens behind 224 others, and one token of an answer.
    RmsNorm(m=32, n=2048),
    *_llama_1b(32),
    *_llama_1b(1),
    *_llama_8b(32),
    *_llama_8b(1),
    # Llama-3.2-1B's last layer, an eighth of the vocabulary, and the choice of a word.
    Dense(m=1, n=16032, k=2048),
    ArgMax(m=1, n=128256),
    # Decoding reads each weight once, so that its type counts most.
    Dense(m=1, n=3072, k=2048, dtype="bfloat16"),
    Dense(m=1, n=3072, k=2048, dtype="int8"),
    # Qwen3-30B-A3B, with 16 of its 128 experts: the scores' eight best, a token with its eight
    # experts, and blocks of a prompt.
    TopK(m=32, n=128, k=8),
    Moe(blocks=8, rows=1, experts=16, n=768, k=2048),
    Moe(blocks=16, rows=16, experts=16, n=768, k=2048),
    # BERT base's first feed-forward layer, a tenth of whose blocks are left.
    BlockSparseDense(m=128, n=3072, k=768, block=16, blocks=5),
)

ONE_PROGRAM: Final[tuple[Operator, ...]] = (
    # Llama-3.2-1B's layers that reduce nothing: TVM's rules make one program of each and choose
    # nothing, so that no suite searches them.
    Embedding(tokens=32, vocabulary=16032, size=2048),
    Rope(batch=1, heads=32, length=32, size=64),
)

VISION: Final[tuple[Operator, ...]] = (
    # ViT-B/16 (https://arxiv.org/abs/2010.11929): 16 x 16 pixels become a token,
    Conv2d.square(224, 3, 768, 16, 16),
    # and a layer of its encoder.
    LayerNorm(m=197, n=768),
    Attention(batch=1, heads=12, key_heads=12, queries=197, keys=197, size=64),
    Dense(m=197, n=768, k=768, bias=True),
    Dense(m=197, n=3072, k=768, bias=True, activation="gelu"),
    Dense(m=197, n=768, k=3072, bias=True),
    # ConvNeXt-T (https://arxiv.org/abs/2201.03545): the four stages' depthwise layers,
    *(
        DepthwiseConv2d(batch=1, height=size, width=size, channels=channels, kernel=7, padding=3)
        for size, channels in ((56, 96), (28, 192), (14, 384), (7, 768))
    ),
    # the norm of the first stage, the wide layers of the first and the last, and the last pooling.
    LayerNorm(m=3136, n=96),
    Dense(m=3136, n=384, k=96, bias=True, activation="gelu"),
    Dense(m=49, n=3072, k=768, bias=True, activation="gelu"),
    GlobalAvgPool2d(batch=1, height=7, width=7, channels=768),
    # MobileNet v2 (https://arxiv.org/abs/1801.04381): depthwise layers,
    *(
        DepthwiseConv2d(batch=1, height=size, width=size, channels=channels, kernel=3, padding=1)
        for size, channels in ((56, 96), (28, 144), (14, 384), (7, 960))
    ),
    # and the 1x1 layers behind them.
    *(
        Conv2d.square(size, ci, co, 1)
        for size, ci, co in ((56, 96, 24), (28, 144, 32), (14, 384, 96), (7, 960, 320))
    ),
    # Stable Diffusion's norm at a quarter of its pixels,
    GroupNorm(batch=1, height=32, width=32, channels=320, groups=32),
    # ResNet's pooling, and Inception's.
    MaxPool2d(batch=1, height=112, width=112, channels=64, kernel=3, stride=2, padding=1),
    AvgPool2d(batch=1, height=35, width=35, channels=192, kernel=3, padding=1),
)

_BERT: Final = ((768, 768), (3072, 768), (768, 3072))
"""Outputs and inputs of the dense layers of BERT base."""
_RESNET: Final = (
    # ResNet-50: the 1x1 layer that TVM tests VNNI with, and the 3x3 layer of conv4_x.
    (56, 64, 256, 1, 1, 0),
    (14, 256, 256, 3, 1, 1),
)

QUANTIZED: Final[tuple[Operator, ...]] = (
    # BERT base on 384 tokens and ResNet-50, as VNNI multiplies,
    *(PackedDense(m=384, n=n, k=k) for n, k in _BERT),
    *(PackedConv2d.square(*shape) for shape in _RESNET),
    # the same in plain layouts,
    *(Dense(m=384, n=n, k=k, dtype="uint8") for n, k in _BERT),
    *(Conv2d.square(*shape, dtype="uint8") for shape in _RESNET),
    # and the products of floats that they replace.
    *(Dense(m=384, n=n, k=k) for n, k in _BERT),
)

REASONING_COMPILER: Final[tuple[Operator, ...]] = (
    # DeepSeek-R1's expert, the one shape that https://arxiv.org/abs/2506.01374 gives.
    BatchMatmul(batch=1, m=16, n=2048, k=7168),
    # Of the others it names the models. Llama-3-8B's attention, on 128 tokens;
    Attention(batch=1, heads=32, key_heads=8, queries=128, keys=128, size=128, causal=True),
    # FLUX's attention, on 256 of its 4608 tokens;
    Attention(batch=1, heads=24, key_heads=24, queries=256, keys=256, size=128),
    # FLUX's convolution, a 3x3 layer of its decoder's 256 channels, on 32 x 32 pixels;
    Conv2d.square(32, 256, 256, 3, 1, 1),
    # and the first product of Llama-4-Scout's MLP, on 16 tokens.
    BatchMatmul(batch=1, m=16, n=8192, k=5120),
)
