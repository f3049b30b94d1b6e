"""A stranger's archive is data: what PyTorch would run on loading it is refused."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import re
import sys
import warnings
import zipfile

import pytest

from pytest_ansorbench.workloads import ImportFailed
from pytest_ansorbench.workloads.networks import archive
from pytest_ansorbench.workloads.networks.archive import UnsafeArchive
from pytest_ansorbench.workloads.networks.shapes import fix

torch = pytest.importorskip("torch")


def load_exported_program(content, **shapes):
    return archive.load_exported_program(content, lambda inputs: fix("bad file", inputs, shapes))


@pytest.fixture(scope="module")
def harmless():
    """What PyTorch itself writes for a model with weights, a buffer and a constant."""

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = torch.nn.Linear(4, 4)
            self.norm = torch.nn.BatchNorm1d(4)
            self.scale = torch.full((4,), 2.0)

        def forward(self, x):
            first, second = torch.split(self.norm(self.dense(x) * self.scale), 2, dim=1)
            return first + second

    return written(torch.export.export(Small().eval(), (torch.zeros(3, 4),)))


def written(exported):
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(exported, buffer)
    return buffer.getvalue()


def altered(content, change):
    """The archive with its records changed by a function from a dictionary of them."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        records = {name.split("/", 1)[1]: archive.read(name) for name in names}
        top = names[0].split("/", 1)[0]
    change(records)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, record in records.items():
            archive.writestr(f"{top}/{name}", record)
    return buffer.getvalue()


def in_json(record, change):
    def altering(records):
        value = json.loads(records[record])
        change(value)
        records[record] = json.dumps(value).encode()

    return altering


def in_text(record, pattern, string):
    """Another JSON string in place of each that a pattern finds."""

    def altering(records):
        text = json.dumps(json.loads(records[record]))
        records[record] = re.sub(pattern, lambda _: json.dumps(string), text).encode()

    return altering


class Bomb:
    """Unpickled, it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_a_plain_model_is_loaded(harmless):
    program = load_exported_program(altered(harmless, lambda records: None))
    [found] = program.module()(torch.ones(3, 4))
    assert found.shape == (3, 2)


@pytest.mark.parametrize(
    "record", [".data/serialization_id", "extra/anything", "models/model.json"]
)
def test_what_unpacks_to_more_than_there_is_never_reaches_pytorch(harmless, record, monkeypatch):
    from torch.export.pt2_archive import _package

    monkeypatch.setattr(_package, "PT2ArchiveReader", None)
    buffer = io.BytesIO(harmless)
    [top] = {name.partition("/")[0] for name in zipfile.ZipFile(buffer).namelist()}
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{top}/other/{record}", bytes(1 << 20))
    with pytest.raises(UnsafeArchive, match=f"its record '{top}/other/{record}' is compressed"):
        load_exported_program(buffer.getvalue())


def use_pickle(config):
    next(iter(config["config"].values()))["use_pickle"] = True


def other_path(config):
    next(iter(config["config"].values()))["path_name"] = "opaque_obj_0"


def target(name):
    def change(model):
        model["graph_module"]["graph"]["nodes"][0]["target"] = name

    return change


WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"
MODEL = "models/model.json"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_json(WEIGHTS, use_pickle), "its tensor 'dense.weight' is a pickle"),
        (in_json(CONSTANTS, use_pickle), "its tensor 'scale' is a pickle"),
        (in_json(CONSTANTS, other_path), "its tensor 'scale' is a pickle"),
        (lambda r: r.update({"data/weights/model.pt": b""}), "'data/weights/model.pt'"),
        (lambda r: r.update({"data/constants/model.pt": b""}), "'data/constants/model.pt'"),
        (lambda r: r.update({"data/constants/custom_obj_0": b""}), "custom_obj_0"),
        (lambda r: r.update({"data/aotinductor/model/a.so": b""}), "aotinductor"),
        (lambda r: r.update({"models/other.json": r[MODEL]}), "'models/other.json'"),
        (in_json(MODEL, target("torch.ops.load_library")), "operator 'torch.ops.load_library'"),
        (in_json(MODEL, target("torch.hub.load")), "operator 'torch.hub.load'"),
        (in_json(MODEL, target("#mine:op")), "operator '#mine:op'"),
        (in_json(MODEL, target("torch.ops.aten.__class__.x")), "operator 'torch.ops.aten"),
        (in_json(MODEL, target("torch.ops.aten.__and__.__class__")), "operator 'torch.ops.aten"),
    ],
)
def test_whatever_would_run_is_refused_before_pytorch_loads_it(harmless, change, message):
    with pytest.raises(UnsafeArchive) as caught:
        load_exported_program(altered(harmless, change))
    assert message in str(caught.value)


def test_an_operator_that_is_spelt_as_python_does_is_pytorchs_own(tmp_path):
    class Both(torch.nn.Module):
        def forward(self, x, y):
            return torch.ops.aten.__and__.Tensor(x, y)

    file = tmp_path / "both.pt2"
    some = torch.tensor([True, False])
    torch.export.save(torch.export.export(Both(), (some, some)), file)
    read = load_exported_program(file.read_bytes())
    assert "aten.__and__.Tensor" in str(read.graph)


def test_a_pickle_in_the_sample_inputs_is_not_run(harmless, tmp_path):
    trace = tmp_path / "ran"
    buffer = io.BytesIO()
    torch.save((Bomb(trace),), buffer)
    content = altered(
        harmless, lambda records: records.update({"data/sample_inputs/model.pt": buffer.getvalue()})
    )
    load_exported_program(content)
    assert not trace.exists()
    with contextlib.suppress(Exception):
        torch.export.load(io.BytesIO(content))
    assert trace.exists()  # else this would show nothing


CONTEXTS = {
    "collections.defaultdict": lambda module: {
        "default_factory_module": module,
        "default_factory_name": "Any",
        "dict_context": ["y"],
    },
    "builtins.dict": lambda module: json.dumps(
        [{"__enum__": True, "fqn": f"{module}:Any", "name": "one"}]
    ),
}


@pytest.mark.parametrize("kind", CONTEXTS)
@pytest.mark.parametrize("spec", ["in_spec", "out_spec"])
def test_no_module_that_a_structure_names_is_imported(harmless, tmp_path, monkeypatch, spec, kind):
    module = f"planted_{spec}_{kind.partition('.')[0]}"
    (tmp_path / f"{module}.py").write_text("from enum import Enum\n\nAny = Enum('Any', 'one')\n")
    monkeypatch.syspath_prepend(tmp_path)
    leaf = {"type": None, "context": None, "children_spec": []}
    tree = {"type": kind, "context": CONTEXTS[kind](module), "children_spec": [leaf]}

    def plant(model):
        [root, *_] = model["graph_module"]["module_call_graph"]
        root["signature"][spec] = json.dumps([1, tree])

    content = altered(harmless, in_json(MODEL, plant))
    load_exported_program(content)
    assert module not in sys.modules
    with contextlib.suppress(Exception):
        torch.export.load(io.BytesIO(content))
    assert sys.modules.pop(module)  # else this would show nothing


def test_an_archive_of_the_older_format_is_not_unpickled(tmp_path):
    trace = tmp_path / "ran"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("version", "8.8")
        archive.writestr("serialized_exported_program.json", "{}")
        for name in ("state_dict", "constants", "example_inputs"):
            archive.writestr(f"serialized_{name}.pt", pickle.dumps((Bomb(trace),)))
    with pytest.raises(Exception):  # noqa: B017 - PyTorch's reader has a kind of its own
        load_exported_program(buffer.getvalue())
    assert not trace.exists()


class Folded(torch.nn.Module):
    """Sizes that are arithmetic of those of the inputs, and operators that work them out."""

    def forward(self, x, y):
        rows = x.shape[0]
        wide = torch.nn.functional.pad(x, (0, 1)).reshape(rows * 2, -1)
        pooled = torch.nn.functional.adaptive_avg_pool1d(wide[: rows // 2], 3)
        return pooled.sum() / rows, x[1:] + y


@pytest.fixture(scope="module")
def dynamic():
    rows = torch.export.Dim("rows", max=64)
    shapes = ({0: 2 * rows + 1}, {0: 2 * rows})
    given = torch.zeros(5, 7), torch.zeros(4, 7)
    return written(torch.export.export(Folded(), given, dynamic_shapes=shapes))


def inputs_of(program):
    return [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"]


@pytest.mark.parametrize("shapes", [{"x": (7, 7)}, {"y": (6, 7)}, {"y": (6, 7), "x": (7, 7)}])
def test_symbols_become_numbers(dynamic, shapes):
    program = load_exported_program(dynamic, **shapes)
    given = torch.rand(7, 7), torch.rand(6, 7)
    assert [tuple(one.shape) for one in inputs_of(program)] == [(7, 7), (6, 7)]
    for found, expected in zip(program.module()(*given), Folded()(*given), strict=True):
        torch.testing.assert_close(found, expected)


def test_symbols_may_be_given_themselves(dynamic):
    with pytest.raises(ImportFailed, match=r"'x', \(2\*s\d+ \+ 1, 7\), is open") as caught:
        load_exported_program(dynamic)
    [symbol] = {*re.findall(r"s\d+", str(caught.value))}
    program = load_exported_program(dynamic, **{symbol: 3})
    assert [tuple(one.shape) for one in inputs_of(program)] == [(7, 7), (6, 7)]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            {"x": (6, 7)},
            r"bad shape \(6, 7\) of its input 'x': the model has \(2\*s\d+ \+ 1, 7\)",
        ),
        (
            {"x": (7, 7), "y": (4, 7)},
            r"bad shape \(4, 7\) of its input 'y': the model has \(2\*s\d+, 7\), s\d+ = 3",
        ),
        ({"x": (7, 7, 1)}, r"bad shape \(7, 7, 1\) of its input 'x'"),
        ({"x": (201, 7)}, "would be 100, and was exported for 2 to 64"),
        ({"z": (7, 7)}, "bad name 'z' in shapes: expected an input, x, y or a symbol, s"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(dynamic, shapes, message):
    with pytest.raises(ValueError, match=message):
        load_exported_program(dynamic, **shapes)


@pytest.mark.parametrize("text", ["{}", "Add({}, Integer(1))", "Symbol('s0', positive={})"])
def test_no_text_of_a_shape_is_run(dynamic, tmp_path, text):
    trace = tmp_path / "ran"
    code = text.format(f"__import__('pathlib').Path({str(trace)!r}).touch()")
    content = altered(dynamic, in_text(MODEL, r'(?<="expr_str": )"[^"]*"', code))
    with pytest.raises(UnsafeArchive, match=r"a shape in it is .* expected numbers, names and"):
        load_exported_program(content, x=(7, 7), y=(6, 7))
    assert not trace.exists()


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_no_guard_is_run(harmless, dynamic, tmp_path):
    trace = tmp_path / "ran"
    code = f"__import__('pathlib').Path({str(trace)!r}).touch() is None"
    plant = in_json(MODEL, lambda model: model.update(guards_code=[code]))
    load_exported_program(altered(harmless, plant)).run_decompositions()
    load_exported_program(altered(dynamic, plant), x=(7, 7)).run_decompositions()
    assert not trace.exists()
    buffer = io.BytesIO(altered(harmless, plant))  # else this would show nothing
    torch.export.load(buffer).run_decompositions()
    assert trace.exists()


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_no_name_is_run(harmless, tmp_path):
    trace = tmp_path / "ran"
    name = f"x=__import__('pathlib').Path({str(trace)!r}).touch()"
    plant = in_text(MODEL, '"x"', name)
    with pytest.raises(UnsafeArchive, match=r"its name \"x=__import__.* is no identifier"):
        load_exported_program(altered(harmless, plant))
    assert not trace.exists()
    with contextlib.suppress(Exception):  # else this would show nothing
        torch.export.load(io.BytesIO(altered(harmless, plant)))
    assert trace.exists()


def test_an_input_may_be_called_target():
    class Loss(torch.nn.Module):
        def forward(self, x, target):
            return (x - target).abs().sum(dim=1)

    content = written(torch.export.export(Loss(), (torch.ones(3, 4), torch.zeros(3, 4))))
    [found] = load_exported_program(content).module()(torch.ones(3, 4), torch.zeros(3, 4))
    assert found.tolist() == [4.0, 4.0, 4.0]


def test_expressions_stand_only_where_shapes_do(harmless):
    def plant(model):
        node = model["graph_module"]["graph"]["nodes"][0]
        node["metadata"]["expr_str"] = "2"

    with pytest.raises(UnsafeArchive, match="'2' in it stands where no shape is"):
        load_exported_program(altered(harmless, in_json(MODEL, plant)))


def test_sizes_that_depend_on_values_are_refused():
    class Positions(torch.nn.Module):
        def forward(self, x):
            return torch.nonzero(x)

    content = written(torch.export.export(Positions(), (torch.ones(3, 4),)))
    with pytest.raises(UnsafeArchive, match=r"depends on u\d, which no input's shape tells"):
        load_exported_program(content)


class Chooses(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


class Repeats(torch.nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda x: x.sum() < 9, lambda x: (x + 1,), (x,))


class Freezes(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x + 1
        return x + y


@pytest.mark.parametrize(
    ("model", "name", "cure"),
    [
        (Chooses(), "cond", "export what is in it as a model of its own"),
        (Repeats(), "while_loop", "export what is in it as a model of its own"),
        (Freezes(), "wrap_with_set_grad_enabled", "call torch.export.export within torch.no_grad"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_regions_are_refused_and_the_way_out_is_named(model, name, cure):
    content = written(torch.export.export(model, (torch.ones(3, 4),)))
    with pytest.raises(UnsafeArchive) as caught:
        load_exported_program(content)
    assert str(caught.value).startswith(f"its {name} (torch.ops.higher_order) is a region of its")
    assert cure in str(caught.value)


def test_the_way_out_of_a_region_without_gradients_is_one():
    with torch.no_grad():
        content = written(torch.export.export(Freezes(), (torch.ones(3, 4),)))
    [found] = load_exported_program(content).module()(torch.ones(3, 4))
    assert found.eq(3).all()


class Mixed(torch.nn.Module):
    """Python's values among the inputs, and None among the outputs."""

    def forward(self, x, causal: bool = True, scale: float = 1.0, *, mask=None, y):
        return {"first": (x * scale if causal else x, None), "second": y + 1}


def test_only_tensors_are_left_of_inputs_and_outputs():
    x, y = torch.rand(3, 4), torch.rand(2)
    content = written(torch.export.export(Mixed(), (x, True, 2.0), {"mask": None, "y": y}))
    program = load_exported_program(content)
    first, second = program.module()(x, y)
    torch.testing.assert_close(first, x * 2)
    torch.testing.assert_close(second, y + 1)
    assert [spec.arg.name for spec in program.graph_signature.input_specs] == ["x", "y"]


def test_a_number_among_the_inputs_is_refused():
    class Scaled(torch.nn.Module):
        def forward(self, x, times: int):
            return x * times

    shapes = {"x": None, "times": torch.export.Dim.DYNAMIC}
    exported = torch.export.export(Scaled(), (torch.rand(3), 4), dynamic_shapes=shapes)
    with pytest.raises(UnsafeArchive, match="its input 'times' is a number and no tensor; export"):
        load_exported_program(written(exported))
