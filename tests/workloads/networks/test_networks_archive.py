"""A stranger's archive is data: what PyTorch would run on loading it is refused."""

from __future__ import annotations

import io
import json
import pickle
import warnings
import zipfile

import pytest

from pytest_ansorbench.workloads.networks.archive import UnsafeArchive, load_exported_program

torch = pytest.importorskip("torch")


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


class Bomb:
    """Unpickled, it writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_plain_model_is_loaded(harmless):
    program = load_exported_program(altered(harmless, lambda records: None))
    assert program.module()(torch.ones(3, 4)).shape == (3, 2)


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
    ],
)
def test_whatever_would_run_is_refused_before_pytorch_loads_it(harmless, change, message):
    with pytest.raises(UnsafeArchive) as caught:
        load_exported_program(altered(harmless, change))
    assert message in str(caught.value)


def test_a_pickle_in_the_sample_inputs_is_not_run(harmless, tmp_path):
    trace = tmp_path / "ran"
    buffer = io.BytesIO()
    torch.save((Bomb(trace),), buffer)
    content = altered(
        harmless, lambda records: records.update({"data/sample_inputs/model.pt": buffer.getvalue()})
    )
    with pytest.raises(UnsafeArchive, match="its sample inputs are more than tensors"):
        load_exported_program(content)
    assert not trace.exists()


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


def test_open_shapes_are_refused_and_the_way_out_is_named():
    dynamic = ({0: torch.export.Dim("rows")},)
    exported = torch.export.export(
        torch.nn.Linear(4, 3), (torch.zeros(2, 4),), dynamic_shapes=dynamic
    )
    with pytest.raises(UnsafeArchive, match="expected fixed shapes: export it without dynamic"):
        load_exported_program(written(exported))
