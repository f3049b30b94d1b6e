"""Problems of oneDNN's benchdnn: what is read, and what is refused in a sentence."""

from __future__ import annotations

import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads import BadProblem, from_benchdnn, from_benchdnn_batch

CONV = {"in_channels": 8, "out_channels": 16, "kernel": 3}
POOL = {"batch": 1, "channels": 8, "kernel": 3}

READ = [
    ("matmul", "30x4096:4096x6144", workloads.Dense(m=30, n=6144, k=4096)),
    ("matmul", '2x3:3x4_n"a:name*5"', workloads.Dense(m=2, n=4, k=3)),
    ("matmul", "2x3:3x4:2x4", workloads.Dense(m=2, n=4, k=3)),
    ("matmul", "--bia-dt=f32 2x3:3x4", workloads.Dense(m=2, n=4, k=3, bias=True)),
    (
        "matmul",
        "--bia-dt=f32 --bia_mask=4 --attr-post-ops=eltwise_swish:1.0 5x2x3:1x3x4",
        workloads.Dense(m=10, n=4, k=3, bias=True, activation="silu"),
    ),
    (
        "matmul",
        "--attr-post-ops=gelu_erf --dt=bf16:bf16:bf16 2x3:3x4",
        workloads.Dense(m=2, n=4, k=3, activation="gelu", dtype="bfloat16"),
    ),
    ("matmul", "--dt=u8:s8:s32 2x3:3x4", workloads.Dense(m=2, n=4, k=3, dtype="uint8")),
    ("matmul", "5x2x3:5x3x4", workloads.BatchMatmul(batch=5, m=2, n=4, k=3)),
    ("matmul", "5x6x2x3:5x6x3x4", workloads.BatchMatmul(batch=30, m=2, n=4, k=3)),
    # Weights that all of a batch share multiply rows.
    ("matmul", "5x2x3:1x3x4", workloads.Dense(m=10, n=4, k=3)),
    (
        "conv",
        'mb1ic8ih9oc16oh9kh3ph1n"resnet:one*3"',
        workloads.Conv2d(batch=1, height=9, width=9, padding=1, **CONV),
    ),
    # Without a number of images there are two, without a padding what the output asks for.
    ("conv", "ic8ih9oc16oh9kh3", workloads.Conv2d(batch=2, height=9, width=9, padding=1, **CONV)),
    ("conv", "ic8ih9oc16kh3", workloads.Conv2d(batch=2, height=9, width=9, **CONV)),
    (
        "conv",
        "g1mb1_ic8oc16_ih9iw8_oh5ow4_kh3kw3_sh2sw2_ph1pw1",
        workloads.Conv2d(batch=1, height=9, width=8, stride=2, padding=1, **CONV),
    ),
    (
        "conv",
        "--dir=fwd_d --alg=AUTO mb1ic8iw9oc16kw3_kh0sh1ph0",
        workloads.Conv1d(batch=1, length=9, **CONV),
    ),
    ("conv", "--mb=4 mb1ic8iw9oc16kw3", workloads.Conv1d(batch=4, length=9, **CONV)),
    (
        "conv",
        "mb1ic8id5ih6iw7oc16kd3kh3kw3",
        workloads.Conv3d(batch=1, depth=5, height=6, width=7, **CONV),
    ),
    (
        "conv",
        "mb1ic8id5oc16kd3",
        workloads.Conv3d(batch=1, depth=5, height=5, width=5, **CONV),
    ),
    (
        "conv",
        "mb1ic8ih9oc16kh3dh1",
        workloads.DilatedConv2d(batch=1, height=9, width=9, dilation=2, **CONV),
    ),
    (
        "conv",
        "g4mb1ic8ih9oc16kh3",
        workloads.GroupedConv2d(batch=1, height=9, width=9, groups=4, **CONV),
    ),
    (
        "conv",
        "g8mb1ic8ih9oc8kh3ph1",
        workloads.DepthwiseConv2d(batch=1, height=9, width=9, channels=8, kernel=3, padding=1),
    ),
    ("pool", "mb1ic8ih9kh3", workloads.MaxPool2d(height=9, width=9, **POOL)),
    (
        "pool",
        "--alg=avg_p --dt=f16 --tag=axb mb1ic8_ih9iw8_kh3kw3_sh2sw2_ph1pw1",
        workloads.AvgPool2d(height=9, width=8, stride=2, padding=1, dtype="float16", **POOL),
    ),
    ("pool", "--alg=AVG_NP mb1ic8ih9kh3", workloads.AvgPool2d(height=9, width=9, **POOL)),
    ("softmax", "--alg=softmax --inplace=false 128x1000", workloads.Softmax(m=128, n=1000)),
    ("softmax", "--stag=abcd --axis=3 --mb=2 1x3x4x5", workloads.Softmax(m=24, n=5)),
    ("softmax", "96x1000x1x1", workloads.Softmax(m=96, n=1000)),
    ("softmax", "--axis=0 --mb=4 128x1", workloads.Softmax(m=1, n=4)),
    ("lnorm", "6x2x128x1024", workloads.LayerNorm(m=1536, n=1024)),
    ("lnorm", "--flags=CH --dt=f32:f32 --tag=tnc:any 256x768", workloads.LayerNorm(m=256, n=768)),
    ("lnorm", "--flags=CM 256x768", workloads.RmsNorm(m=256, n=768)),
    ("lnorm", "--stat_tag= --ss_dt= 256x768", workloads.LayerNorm(m=256, n=768)),
    (
        "gnorm",
        "g32mb1ic320ih2iw3",
        workloads.GroupNorm(batch=1, height=2, width=3, channels=320, groups=32),
    ),
    (
        "gnorm",
        'g5ic5iw10_n"one"',
        workloads.GroupNorm(batch=2, height=1, width=10, channels=5, groups=5),
    ),
]  # fmt: skip


def test_a_problem_becomes_an_operator():
    read = [(driver, problem, from_benchdnn(driver, problem)) for driver, problem, _ in READ]
    assert read == READ


def test_the_type_is_the_caller_s_unless_an_option_names_one():
    assert from_benchdnn("matmul", "2x3:3x4", dtype="int8").dtype == "int8"
    assert from_benchdnn("matmul", "--dt=f64 2x3:3x4", dtype="int8").dtype == "float64"


REFUSED = [
    ("deconv", "ic8ih9oc16kh3", "bad driver 'deconv': expected one of matmul, conv, pool, "),
    ("matmul", "2x3", "bad matmul problem '2x3': expected dimensions, e.g. 2x3:3x4"),
    ("matmul", "2x:3", "bad matmul problem '2x:3': expected dimensions, e.g. 2x3:3x4"),
    ("matmul", "2x3:4x5", "expected dimensions that fit, e.g. 2x3:3x4"),
    ("matmul", "2x3:3x4:2x5", "expected dimensions that fit, e.g. 2x3:3x4"),
    ("matmul", "2x3:5x3x4", "expected as many dimensions of both, at least 2"),
    ("matmul", "1x2x3:5x3x4", "expected the same batch of both"),
    ("matmul", "0x3:3x4", "bad m 0: expected a positive int, e.g. 1"),
    ("matmul", "2x3:3x4 4x3:3x2", "it is 2 problems; expected one, e.g. 30x4096:4096x6144"),
    ("matmul", "", "it is 0 problems; expected one"),
    ("matmul", "--wtag=ba 2x3:3x4", "bad matmul option '--wtag=ba': 'ba' is not read; expected "
     "one of any, a, ab, "),
    ("matmul", "--dt=u8:s8:u8 2x3:3x4", "'u8:s8:u8' is not read; expected one of f32, "),
    ("matmul", "--attr-post-ops=relu 2x3:3x4", "'relu' is not read; expected one of gelu_erf, "),
    ("matmul", "--attr-scales=wei:per_oc 2x3:3x4", "'wei:per_oc' is not read; expected nothing"),
    ("matmul", "--grouped=0:2:1,1 2x3:2x3x4", "bad matmul option '--grouped=0:2:1,1': it is not "
     "read; expected one of dir, "),
    ("matmul", "--match=x 2x3:3x4", "bad matmul option '--match=x': it is not read"),
    ("matmul", "--bia-dt=bf16 2x3:3x4", "its bias is bfloat16; expected float32, as its output"),
    ("matmul", "--attr-post-ops=swish 2x3:3x4", "'swish' is not read; expected one of gelu_erf, "),
    ("matmul", "--bia-dt=f32 --bia_mask=1 2x3:3x4", "expected --bia_mask=2"),
    ("matmul", "--bia-dt=f32 5x2x3:1x3x4", "its bias is not one of columns; expected --bia_mask=4"),
    ("matmul", "--bia-dt=f32 --bia_mask=4 5x2x3:5x3x4", "with no bias and no activation"),
    ("conv", "ic8ih9oc16kh3x", "expected numbers after names (g mb ic id ih iw oc "),
    ("conv", "ic8oc16", "expected one to three spatial axes, e.g. ih56iw56"),
    ("conv", "ic8kh3oc16", "expected the elements of each axis, e.g. ih56"),
    ("conv", "ic8ih9oc16kh3sh2sw2", "expected the elements of each axis, e.g. iw56"),
    ("conv", "ic8ih9oc16", "bad kernel 0: expected a positive int"),
    ("conv", "ic8ih9iw9oc16kh3kw1", "expected the same kernel, stride, padding and dilation"),
    ("conv", "ic8ih9oc16oh8kh3ph1", "its output of 8 asks for a padding at one end that"),
    ("conv", "ic8ih9oc16oh9kh3ph0", "its output of 9 asks for a padding at one end that the other"),
    ("pool", "ic8ih9oh9kh3ph0", "its output of 9 asks for a padding at one end that"),
    ("conv", "g2ic8iw9oc16kw3", "expected groups or a dilation in two dimensions"),
    ("conv", "--dir=FWD_B ic8ih9oc16kh3", "'FWD_B' is not read; expected one of fwd_d, fwd_i"),
    ("conv", "--dir=BWD_W ic8ih9oc16kh3", "'BWD_W' is not read"),
    ("conv", "--stag=nChw16c ic8ih9oc16kh3", "'nChw16c' is not read; expected one of any, axb"),
    ("conv", "--mb=two ic8ih9oc16kh3", "'two' is not read; expected a whole number"),
    ("pool", "ic8iw9kw3", "expected two dimensions and no dilation"),
    ("pool", "--alg=avg_np ic8ih9kh3ph1", "its mean leaves padding out; expected avg_p"),
    ("pool", "ic8ih9kh3ph3", "bad padding 3: expected less than kernel 3"),
    ("softmax", "2x19x128x256", "its axis 1 is not the last one; expected that, e.g. 128x1000"),
    ("softmax", "--sdt=bf16 128x1000", "'bf16' is not read; expected one of f32"),
    ("lnorm", "--flags= 256x768", "'' is not read; expected one of CH, HC, CM, MC"),
    ("lnorm", "--dt=bf16 --ss_dt=f32 256x768", "its scale is float32; expected bfloat16"),
    ("gnorm", "g32ic320ih2eps0.1", "expected numbers after names"),
    ("gnorm", "g3ic320ih2", "bad groups 3: expected a divisor of channels 320"),
]  # fmt: skip


@pytest.mark.parametrize(("driver", "problem", "message"), REFUSED)
def test_what_is_not_read_is_told_in_a_sentence(driver, problem, message):
    with pytest.raises(BadProblem) as caught:
        from_benchdnn(driver, problem)
    assert message in str(caught.value)
    assert str(caught.value).startswith("bad ") and "\n" not in str(caught.value)


def test_a_type_that_softmax_has_not_is_refused():
    with pytest.raises(BadProblem, match="its type is bfloat16; expected float32"):
        from_benchdnn("softmax", "128x1000", dtype="bfloat16")


def written(folder, **files):
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_a_batch_file_is_read_line_by_line(tmp_path):
    text = """# shapes of a prompt \\
    --reset --mode=P -v5 --engine=cpu
    --dt=f32,\\
    bf16 --stag=ab --wtag=any
    2x3:3x4_n"first"  # twice, once in each type
    2x3:3x4_n"again"
    --reset
    5x6:6x7
    """
    written(tmp_path, shapes=text)
    assert from_benchdnn_batch("matmul", tmp_path / "shapes", dtype="float16") == (
        workloads.Dense(m=2, n=4, k=3),
        workloads.Dense(m=2, n=4, k=3, dtype="bfloat16"),
        workloads.Dense(m=5, n=7, k=6, dtype="float16"),
    )


def test_a_batch_file_may_read_others_beside_it(tmp_path):
    """Options hold in them, too."""
    written(tmp_path, all="--mb=3 --batch=one\n--batch=two", one="ic8ih9kh3", two="ic8ih7kh3")
    assert [one.id for one in from_benchdnn_batch("pool", str(tmp_path / "all"))] == [
        "max-pool2d-n3-h9-w9-c8-k3-s1-p0",
        "max-pool2d-n3-h7-w7-c8-k3-s1-p0",
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "all': there is no such file"),
        ({"all": "# nothing\n--sdt=f32"}, "all': there are none; expected some, e.g. 128x1000"),
        ({"all": "--batch=one"}, "one': there is no such file"),
        ({"all": "--batch=../{0}/all"}, "all': the file reads itself"),
        ({"all": "2x3\n2x3x4"}, "bad softmax problem '2x3x4' of '"),
        ({"all": "--sdt=f32,u8 2x3"}, "bad softmax option '--sdt=f32,u8' of '"),
    ],
)
def test_a_batch_file_that_cannot_be_read_is_told(tmp_path, files, message):
    written(tmp_path, **{name: text.format(tmp_path.name) for name, text in files.items()})
    with pytest.raises(BadProblem) as caught:
        from_benchdnn_batch("softmax", tmp_path / "all")
    assert message in str(caught.value) and str(tmp_path) in str(caught.value)


def test_what_a_batch_file_has_that_is_not_read_may_be_left_out(tmp_path):
    """An option that is not read holds until another takes its place."""
    written(tmp_path, all="2x3 4 5x6 --sdt=u8 7x8 9x10 --sdt=f32 11x12 --sdt=u8 --reset 13x14")
    skipped = []
    found = from_benchdnn_batch("softmax", tmp_path / "all", skip=skipped.append)
    assert [one.m for one in found] == [2, 5, 11, 13]
    assert [str(one).split("'")[1] for one in skipped] == ["4", "7x8", "9x10"]
    assert "bad softmax option '--sdt=u8' of '" in str(skipped[1])


def test_a_number_of_thousands_of_digits_costs_its_own_problem(tmp_path):
    digits, skipped = "9" * 5000, []
    written(tmp_path, all=f"{digits} 2x3")
    [found] = from_benchdnn_batch("softmax", tmp_path / "all", skip=skipped.append)
    assert found.m == 2 and "expected dimensions, e.g. 2x3" in str(*skipped)
    with pytest.raises(BadProblem, match="expected numbers after names"):
        from_benchdnn("conv", f"ic8ih{digits}oc16kh3")


def test_one_of_several_values_that_is_not_read_costs_its_own_problem(tmp_path):
    skipped = []
    written(tmp_path, all="--alg=max,avg_np,avg_p --tag=abx,axb mb1ic8ih9oh9kh3ph1")
    found = from_benchdnn_batch("pool", tmp_path / "all", skip=skipped.append)
    assert [type(one).__name__ for one in found] == ["MaxPool2d", "AvgPool2d"]
    told = [str(one) for one in skipped]
    assert len(told) == 4 and sum("'abx' is not read" in one for one in told) == 3
    assert sum("its mean leaves padding out" in one for one in told) == 1


def test_problems_are_cases_like_any_other():
    """Two programs of one id would be one case to a journal; none is made twice."""
    cases = {from_benchdnn(driver, problem) for driver, problem, _ in READ}
    assert len({case.id for case in cases}) == len(cases)
    assert all(isinstance(case, workloads.Case) for case in cases)
