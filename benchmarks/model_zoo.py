"""What becomes of models that other exporters and libraries make.

    pip install torch onnx onnxscript torchvision timm transformers scikit-learn skl2onnx lightgbm
    pip install onnxmltools rapidocr-onnxruntime magika silero-vad
    python benchmarks/model_zoo.py [--models NAME,NAME] [--trials N] [--into FOLDER]

Makes each model, or takes it from the package that ships it, as a file; weights are random or the
package's own, and images small. Then the file goes through the product as anybody's does: tuned
with N trials a task by random search, every candidate checked, the network with its winners held to
the untuned one. Prints what became of each. Models of packages that are not there are skipped, each
with a line.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from swept import counts, swept
from tabulate import tabulate

from pytest_ansorbench import workloads

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pytest_ansorbench.workloads.case import NetworkCase

TESTS: Final = """
import pytest
from model_zoo import case_of

@pytest.mark.parametrize("name", NAMES)
def test_program(ansor_bench, name):
    ansor_bench(case_of(name))
"""


@dataclass(frozen=True)
class Model:
    """One model.

    Attributes:
        exporter: What writes it.
        ending: Of its file.
        write: Writes it into a file of this path; raises ImportError without its packages.
        shapes: Shapes of inputs that the file leaves open, by name.
    """

    exporter: str
    ending: str
    write: Callable[[Path], None]
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)


# PyTorch: a model and its example inputs.
Example = tuple["nn.Module", tuple["Tensor", ...]]


def _convolutions() -> Example:
    import torch
    from torch import nn

    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(8, 10)), (torch.randn(1, 3, 16, 16),)


def _tied() -> Example:
    import torch
    from torch import nn

    class Tied(nn.Module):
        """An embedding whose weight is the last layer's, and a buffer of positions."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(64, 32)
            self.head = nn.Linear(32, 64, bias=False)
            self.head.weight = self.embedding.weight
            self.register_buffer("positions", torch.randn(16, 32))

        def forward(self, tokens: Tensor) -> Tensor:
            logits: Tensor = self.head(self.embedding(tokens) + self.positions)
            return logits

    return Tied(), (torch.randint(0, 64, (2, 16)),)


def _dictionary() -> Example:
    import torch
    from torch import nn

    class Dictionary(nn.Module):
        """Outputs by name, one of them a pair."""

        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.head = nn.Linear(32, 64), nn.Linear(64, 10)

        def forward(self, x: Tensor) -> dict[str, Any]:
            hidden = torch.tanh(self.hidden(x))
            return {"logits": self.head(hidden), "states": (hidden, hidden.mean(-1))}

    return Dictionary(), (torch.randn(4, 32),)


def _unrolled() -> Example:
    import torch
    from torch import nn

    class Unrolled(nn.Module):
        """A loop over layers and time, in Python, with functions alone."""

        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.ParameterList(torch.randn(16, 16) / 4 for _ in range(3))

        def forward(self, x: Tensor) -> Tensor:
            state, states = torch.zeros_like(x[0]), []
            for step in x.unbind():
                state = step + state
                for weight in self.weights:
                    state = torch.nn.functional.gelu(state @ weight)
                states.append(state)
            return torch.stack(states)

    return Unrolled(), (torch.randn(4, 8, 16),)


def _branches() -> Example:
    import torch
    from torch import nn

    class Branches(nn.Module):
        """A branch that the input decides on."""

        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(16, 16), nn.Linear(16, 16)

        def forward(self, x: Tensor) -> Tensor:
            chosen: Tensor = torch.cond(x.sum() > 0, self.one, self.other, (x,))
            return chosen

    return Branches(), (torch.randn(4, 16),)


def _counting() -> Example:
    import torch
    from torch import nn

    class Counting(nn.Module):
        """A buffer that each call writes."""

        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(16, 16)
            self.register_buffer("calls", torch.zeros(16))

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            scaled: Tensor = self.linear(x) * self.calls
            return scaled

    return Counting(), (torch.randn(4, 16),)


def _recurrent(kind: str) -> Example:
    import torch
    from torch import nn

    return getattr(nn, kind)(16, 32, batch_first=True), (torch.randn(1, 5, 16),)


def _encoder() -> Example:
    import torch
    from torch import nn

    return nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (torch.randn(1, 16, 32),)


def _half() -> Example:
    model, inputs = _dictionary()
    return model.half(), tuple(one.half() for one in inputs)


def _torchvision(name: str) -> Example:
    import torch

    _define_operators()
    models = importlib.import_module("torchvision.models")
    return getattr(models, name)(weights=None), (torch.randn(1, 3, 64, 64),)


def _timm(name: str) -> Example:
    import torch

    _define_operators()
    model = importlib.import_module("timm").create_model(name)
    return model, (torch.randn(1, *model.default_cfg["input_size"]),)


def _define_operators() -> None:
    """Have torchvision imported beside a PyTorch that its own operators were not built for."""
    import torch

    try:
        importlib.import_module("torchvision")
    except ImportError:
        return  # whoever needs it will say so
    except RuntimeError:
        for name in ("nms", "qnms"):
            signature = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            torch.library.define(f"torchvision::{name}", signature)


def _transformer(kind: str, **sizes: int) -> Example:
    import torch

    _define_operators()  # it imports torchvision where that is installed
    transformers = importlib.import_module("transformers")
    config = getattr(transformers, f"{kind}Config")(vocab_size=128, **sizes)
    model = getattr(transformers, f"{kind}Model")(config)
    return model, (torch.randint(0, 128, (1, 16)),)


def _exported(example: Callable[[], Example], path: Path) -> None:
    import torch

    model, inputs = example()
    torch.export.save(torch.export.export(model.eval(), inputs), path)


def _exported_open(path: Path) -> None:
    """With a batch that is a symbol."""
    import torch

    model, (x,) = _convolutions()
    shapes = ({0: torch.export.Dim("batch", min=2, max=64)},)
    program = torch.export.export(model.eval(), (x.repeat(2, 1, 1, 1),), dynamic_shapes=shapes)
    torch.export.save(program, path)


def _onnx_of_torch(example: Callable[[], Example], path: Path, **options: Any) -> None:
    import torch

    model, inputs = example()
    torch.onnx.export(model.eval(), inputs, path, input_names=["x"], **options)


def _onnx_of_sklearn(kind: str, path: Path, **options: Any) -> None:
    """A model of scikit-learn, fitted to drawn data, by skl2onnx."""
    import numpy as np

    convert = importlib.import_module("skl2onnx").to_onnx
    module, _, name = kind.rpartition(".")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 16)).astype("float32")
    model = getattr(importlib.import_module(f"sklearn.{module}"), name)(**options)
    model.fit(x, (x[:, 0] > 0).astype("int64"))
    ids = {"zipmap": False} if hasattr(model, "predict_proba") else None
    path.write_bytes(convert(model, x[:4], options=ids).SerializeToString())


def _onnx_of_lightgbm(path: Path) -> None:
    import numpy as np

    boosted = importlib.import_module("lightgbm").LGBMRegressor(n_estimators=8, verbose=-1)
    tools = importlib.import_module("onnxmltools")
    types = importlib.import_module("onnxmltools.convert.common.data_types")
    x = np.random.default_rng(0).standard_normal((200, 16))
    boosted.fit(x, x[:, 0])
    inputs = [("x", types.FloatTensorType([4, 16]))]
    path.write_bytes(tools.convert_lightgbm(boosted, initial_types=inputs).SerializeToString())


def _onnx_of_text(path: Path) -> None:
    """The textual form of ONNX."""
    import onnx.parser

    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        text (float[4, 16] x) => (float[4, 16] y, float[4, 1] most)
        {
            normal = LpNormalization <axis = 1> (x)
            y = Softmax <axis = 1> (normal)
            axes = Constant <value_ints = [1]> ()
            most = ReduceMax <axes = [1]> (y)
        }
    """
    onnx.save(onnx.parser.parse_model(text), str(path))


def _shipped(package: str, file: str, path: Path) -> None:
    """A file of a package, which is not imported."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"No module named {package!r}")
    shutil.copy(Path(found.origin).parent / file, path)


def _pt2(example: Callable[[], Example], exporter: str = "torch.export") -> Model:
    return Model(exporter, "pt2", partial(_exported, example))


def _onnx(exporter: str, write: Callable[[Path], None], **shapes: Sequence[int]) -> Model:
    return Model(exporter, "onnx", write, shapes)


_LEGACY: Final = {"dynamo": False}
_DYNAMO: Final = {"dynamo": True, "external_data": False, "verbose": False}
_OCR: Final = "rapidocr_onnxruntime"

MODELS: Final[Mapping[str, Model]] = {
    "convolutions": _pt2(_convolutions),
    "tied-weights": _pt2(_tied),
    "dictionary": _pt2(_dictionary),
    "half": _pt2(_half),
    "unrolled": _pt2(_unrolled),
    "lstm": _pt2(partial(_recurrent, "LSTM")),
    "encoder-layer": _pt2(_encoder),
    "branches": _pt2(_branches),
    "counting": _pt2(_counting),
    "open-batch": Model("torch.export", "pt2", _exported_open, {"input": (2, 3, 16, 16)}),
    "mobilenet-v3": _pt2(partial(_torchvision, "mobilenet_v3_small"), "torchvision"),
    "squeezenet": _pt2(partial(_torchvision, "squeezenet1_1"), "torchvision"),
    "vit": _pt2(partial(_timm, "test_vit"), "timm"),
    "convnext": _pt2(partial(_timm, "test_convnext"), "timm"),
    "efficientnet": _pt2(partial(_timm, "test_efficientnet"), "timm"),
    "bert": _pt2(
        partial(
            _transformer,
            "Bert",
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
        ),
        "transformers",
    ),
    "gpt2": _pt2(
        partial(
            _transformer,
            "GPT2",
            n_embd=32,
            n_layer=1,
            n_head=2,
            n_positions=16,
            bos_token_id=0,
            eos_token_id=0,
            use_cache=False,
            return_dict=False,
        ),
        "transformers",
    ),
    "legacy-convolutions": _onnx(
        "torch.onnx, TorchScript", partial(_onnx_of_torch, _convolutions, **_LEGACY)
    ),
    "legacy-gru": _onnx(
        "torch.onnx, TorchScript", partial(_onnx_of_torch, partial(_recurrent, "GRU"), **_LEGACY)
    ),
    "legacy-open-batch": _onnx(
        "torch.onnx, TorchScript",
        partial(_onnx_of_torch, _convolutions, **_LEGACY, dynamic_axes={"x": {0: "batch"}}),
        x=(2, 3, 16, 16),
    ),
    "dynamo-dictionary": _onnx(
        "torch.onnx, dynamo", partial(_onnx_of_torch, _dictionary, **_DYNAMO)
    ),
    "dynamo-encoder-layer": _onnx(
        "torch.onnx, dynamo", partial(_onnx_of_torch, _encoder, **_DYNAMO)
    ),
    "sklearn-mlp": _onnx(
        "skl2onnx", partial(_onnx_of_sklearn, "neural_network.MLPRegressor"), X=(4, 16)
    ),
    "sklearn-logistic": _onnx(
        "skl2onnx", partial(_onnx_of_sklearn, "linear_model.LogisticRegression"), X=(4, 16)
    ),
    "sklearn-pca": _onnx(
        "skl2onnx", partial(_onnx_of_sklearn, "decomposition.PCA", n_components=4), X=(4, 16)
    ),
    "sklearn-forest": _onnx(
        "skl2onnx", partial(_onnx_of_sklearn, "ensemble.RandomForestRegressor"), X=(4, 16)
    ),
    "lightgbm": _onnx("onnxmltools", _onnx_of_lightgbm),
    "onnx-text": _onnx("onnx.parser", _onnx_of_text),
    "ocr-angle": _onnx(
        "PaddlePaddle",
        partial(_shipped, _OCR, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
        x=(1, 3, 48, 48),
    ),
    "ocr-detector": _onnx(
        "PaddlePaddle",
        partial(_shipped, _OCR, "models/ch_PP-OCRv4_det_infer.onnx"),
        x=(1, 3, 64, 64),
    ),
    "magika": _onnx(
        "Keras", partial(_shipped, "magika", "models/standard_v3_3/model.onnx"), bytes=(1, 2048)
    ),
    "silero-vad": _onnx(
        "silero",
        partial(_shipped, "silero_vad", "data/silero_vad.onnx"),
        input=(1, 512),
        state=(2, 1, 128),
    ),
    "silero-vad-16k": _onnx(
        "silero", partial(_shipped, "silero_vad", "data/silero_vad_openvino_16k.onnx")
    ),
}


def case_of(name: str) -> NetworkCase:
    """The case of a model whose file is in the working folder."""
    model = MODELS[name]
    path = Path(f"{name}.{model.ending}")
    if model.ending == "onnx":
        return workloads.from_onnx(path, shapes=model.shapes)
    return workloads.from_exported_program(path, shapes=model.shapes)


def written(names: Sequence[str], folder: Path) -> dict[str, str]:
    """Make the files of some models; why there is none, by the names of the others."""
    lacking = {}
    for name in names:
        model = MODELS[name]
        path = folder / f"{name}.{model.ending}"
        if path.exists():
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of exporters to themselves
                model.write(path)
        except ImportError as error:
            lacking[name] = f"skipped: {error}"
        except Exception as error:  # exporters raise whatever comes their way
            lacking[name] = f"its exporter fails: {str(error).splitlines()[0][:200]}"
    return lacking


def main() -> None:
    """Make the models, tune them, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--models", help="some of them (default: all)")
    parser.add_argument("--trials", type=int, default=1, help="trials a task (default: 1)")
    parser.add_argument("--into", type=Path, help="folder for the files (default: a temporary one)")
    given = parser.parse_args()
    names = given.models.split(",") if given.models else [*MODELS]
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.into or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lacking = written(names, folder)
        for name, why in lacking.items():
            print(f"{name} ({MODELS[name].exporter}): {why}", file=sys.stderr)
        there = [name for name in names if name not in lacking]
        outcomes = swept(
            folder,
            TESTS,
            there,
            **{"trials": f"{given.trials}/task", "round": given.trials, "build-timeout": 120},
        )
    rows = [[name, MODELS[name].exporter, {**outcomes, **lacking}[name]] for name in names]
    print(tabulate(rows, ["model", "exporter", "outcome"]), counts(outcomes), sep="\n\n")


if __name__ == "__main__":
    main()
