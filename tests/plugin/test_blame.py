"""An error in a user's hook, strategy or case is one message with the file and line at fault."""

from __future__ import annotations

import re
import sysconfig
from contextlib import ExitStack
from importlib.metadata import EntryPoint

import pytest

from pytest_ansorbench.bench import Session
from pytest_ansorbench.plugin import blame
from pytest_ansorbench.strategies import ENTRY_POINT_GROUP
from tests.forked_servers import living_servers
from tests.plugin.project import CASES, CONFTEST

HINT = "--full-trace shows the whole traceback)"


def line_of(text: str, mark: str) -> int:
    """Number of the line that ends with a comment."""
    [line] = [n for n, line in enumerate(text.splitlines(), 1) if line.endswith(f"# {mark}")]
    return line


HOOK = """
from pytest_ansorbench.strategies import RandomTraces, StockEvolution, Strategy
from elsewhere import broken

def pytest_ansorbench_strategies(config):  # hook
    {body}  # fault
"""

ELSEWHERE = """
def broken():
    return {}["x"]  # elsewhere
"""


@pytest.mark.parametrize(
    ("body", "place", "function", "message"),
    [
        (
            "return [Strategy('mine', propser=RandomTraces())]",
            "conftest.py:fault",
            "pytest_ansorbench_strategies",
            "TypeError: Strategy.__init__() got an unexpected keyword argument 'propser'",
        ),
        (
            "return [Strategy('mine', proposer=RandomTraces)]",
            "conftest.py:fault",
            "pytest_ansorbench_strategies",
            "ValueError: bad proposer <class 'pytest_ansorbench.strategies.stock_search."
            "RandomTraces'>: expected an object with a method start, e.g. StockEvolution()",
        ),
        ("return broken()", "elsewhere.py:elsewhere", "broken", "KeyError: 'x'"),
        (
            "yield Strategy('mine', proposer=RandomTraces()); broken()",
            "elsewhere.py:elsewhere",
            "broken",
            "KeyError: 'x'",
        ),
        ("raise RuntimeError('a\\nb')", "conftest.py:fault", None, "RuntimeError: a b"),
        ("assert False", "conftest.py:fault", None, "AssertionError: assert False"),
        (
            "Strategy('mine', proposer=RandomTraces())",
            "conftest.py:hook",
            None,
            "bad result None of pytest_ansorbench_strategies: expected a list of strategies, e.g. "
            "[Strategy('mine', proposer=StockEvolution())], or [] for none",
        ),
        (
            "return Strategy('mine', proposer=RandomTraces())",
            "conftest.py:hook",
            None,
            "bad result Strategy(name='mine'",
        ),
        ("return ['mine']", "conftest.py:hook", None, "bad strategy 'mine': expected a"),
        (
            "return [Strategy('a b', proposer=RandomTraces())]",
            "conftest.py:hook",
            None,
            "bad strategy name 'a b': expected a word without commas, colons or spaces",
        ),
    ],
)
def test_a_faulty_hook_is_named_with_its_line(project, body, place, function, message):
    conftest = HOOK.format(body=body)
    project.write("conftest.py", conftest)
    project.write("elsewhere.py", ELSEWHERE)
    line = project.bench("--collect-only").refusal
    file, mark = place.split(":")
    number = line_of(conftest if file == "conftest.py" else ELSEWHERE, mark)
    start = f"{file}:{number}: in {function or 'pytest_ansorbench_strategies'}: {message}"
    assert line.startswith(start)
    assert line.endswith(f"(while asking for strategies; {HINT}")


def test_the_whole_traceback_is_shown_on_demand(project):
    project.write("conftest.py", HOOK.format(body="return broken()"))
    project.write("elsewhere.py", ELSEWHERE)
    outcome = project.bench("--collect-only", "--full-trace")
    assert outcome.code == 4
    assert "ERROR: elsewhere.py:3: in broken: KeyError: 'x'" in outcome.err
    assert "Traceback (most recent call last)" in outcome.err
    assert "INTERNALERROR" not in outcome.text


ENTRY_POINTS = "[pytest_ansorbench.strategies]\nplugged = plugged:make\n"


@pytest.mark.parametrize(
    ("code", "number", "reason"),
    [
        ("def make():\n    return 1 / 0\n", 2, "ZeroDivisionError: division by zero"),
        ("import nonsense\n", 1, "ModuleNotFoundError: No module named 'nonsense'"),
        ("def make():\n  return [\n", 2, "SyntaxError: '[' was never closed"),
        ("make = 3\n", None, "bad strategy 3: expected a pytest_ansorbench.Strategy"),
        ("", None, "AttributeError: module 'plugged' has no attribute 'make'"),
    ],
)
def test_a_faulty_entry_point_is_named_with_its_line(project, tmp_path, code, number, reason):
    site = tmp_path / "site"
    info = site / "plugged-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "plugged.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    line = project.bench("--collect-only", PYTHONPATH=str(site)).refusal
    assert f"bad entry point plugged = plugged:make: {reason}" in line
    assert number is None or line.startswith(f"site/plugged.py:{number}: ")


NAMELESS = """
import pytest
from tests.faults import Doubling

class Nameless(Doubling):
    @property
    def id(self):
        return self.name  # id

@pytest.mark.parametrize("case", [Nameless()], ids=["x"])
def test_nameless(ansor_bench, case):
    ansor_bench(case)
"""


def test_a_case_that_has_no_id_is_named_when_it_is_collected(project):
    project.write("test_cases.py", NAMELESS)
    line = project.bench("--collect-only").refusal
    assert line.startswith(f"test_cases.py:{line_of(NAMELESS, 'id')}: in id: AttributeError: ")
    assert line.endswith(f"(while selecting cases; {HINT}")


MINE = """
import dataclasses
from tests.proposers import QUICK, scripted
from pytest_ansorbench.strategies import (
    Candidate, Evolution, NoModel, Strategy, UniformSketches, XGBoostModel,
)

FINE = scripted(*[("fine", "fine")] * 3, name="fine")

def fail(*_):
    raise ValueError("planted")  # planted

def failing_later():
    rounds = []

    def learn(batch):
        rounds.append(batch)
        if len(rounds) == 2:
            fail()

    return learn

class Mine:
    def __init__(self, **methods):
        self.methods = methods

    def start(self, setup):  # start
        if "start" in self.methods:
            return self.methods["start"]()
        proposer = FINE.proposer.start(setup)
        for name, method in self.methods.items():
            setattr(proposer, name, method)
        return proposer

def mine(name, **methods):
    return Strategy(name, proposer=Mine(**methods), cost_model=NoModel(), measurement=QUICK)

def nothing(*_):  # nothing
    return None

def bare(trials):  # bare
    from tvm.s_tir import Schedule
    from tests.faults import module
    return [Schedule(module("fine"))]

def unkeepable(trials):  # unkeepable
    return [Candidate.from_schedule(c.schedule, {"places": [{1, 2}]}) for c in two()]

def two():
    from tvm.s_tir import Schedule
    from tests.faults import module
    return [Candidate.from_schedule(Schedule(module("fine"))) for _ in range(2)]

class Impatient:
    def __init__(self, answer):
        self.answer = answer

    def measure(self, kernel, best_s):  # measure
        kernel.first_call()
        return self.answer()

class Lopsided:
    def start(self, sketches):
        return self

    def shares(self):  # shares
        return [0.5, 0.5, 0.5, 0.5]

    observe = decisions = nothing

class Model:
    def start(self):  # model
        return object()

STRATEGIES = [
    FINE,
    mine("start-raises", start=fail),
    mine("start-none", start=nothing),
    mine("propose-raises", propose=fail),
    mine("propose-bare", propose=bare),
    mine("propose-number", propose=lambda trials: 3),  # number
    mine("payload", propose=unkeepable),
    mine("learn-raises", learn=fail),
    mine("decisions-raise", decisions=fail),
    mine("decisions-none", decisions=nothing),
    dataclasses.replace(FINE, name="measure-raises", measurement=Impatient(fail)),
    dataclasses.replace(FINE, name="measure-none", measurement=Impatient(nothing)),
    dataclasses.replace(FINE, name="model", cost_model=Model()),
    Strategy("shares", proposer=Evolution(Lopsided(), min_unmeasured=1, population=4)),
    Strategy("no-model", proposer=Evolution(), cost_model=NoModel()),
]
"""

FAULTS = {
    "start-raises": ("planted", "fail", "ValueError: planted", "while starting"),
    "start-none": ("start", "start", "bad result None of start: expected an instance", "starting"),
    "propose-raises": ("planted", "fail", "ValueError: planted", "while asking"),
    "propose-bare": ("bare", "bare", "bad proposal of strategy 'propose-bare': expected a list of "
                     "Candidate, e.g. [Candidate.from_schedule(schedule)]", "for candidates"),
    "propose-number": ("number", "<lambda>", "bad proposal 3 of strategy", "for candidates"),
    "payload": ("unkeepable", "unkeepable", "bad payload of strategy 'payload', "
                "{'places': [{1, 2}]}: expected a JSON value at places[0]; JSON values are dicts",
                "for candidates"),
    "learn-raises": ("planted", "fail", "ValueError: planted", "what was measured"),
    "decisions-raise": ("planted", "fail", "ValueError: planted", "for its decisions"),
    "decisions-none": ("nothing", "nothing", "bad decisions None: expected a dict", "decisions"),
    "measure-raises": ("planted", "fail", "ValueError: planted", "measured a candidate"),
    "measure-none": ("measure", "measure", "bad latencies None: expected seconds", "measured"),
    "model": ("model", "start", "bad result <object", "the cost model of strategy"),
    "shares": ("shares", "shares", "bad shares [0.5, 0.5, 0.5, 0.5]: expected a probability for "
               "each sketch, shape (1,)", "for candidates"),
}  # fmt: skip

STRATEGY_TESTS = """
import pytest
from tests.faults import Doubling
from tests.forked_servers import living_servers
from mine import STRATEGIES

@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.ansor_bench(strategy=f"fine,{name}" if both else name))
    for name, both in ((s.name, s.name.endswith("raises")) for s in STRATEGIES[1:])
])
@pytest.mark.ansor_bench(trials=2, round=2, repeats=1, final_turns=2, final_sets=1)
def test_fault(ansor_bench, name):
    try:
        ansor_bench(Doubling())
    finally:
        assert not any(server.children() for server in living_servers())

@pytest.mark.ansor_bench(trials=2, round=2, repeats=1, final_turns=2, final_sets=1, strategy="fine")
def test_fine(ansor_bench):
    ansor_bench(Doubling())
"""


def message_of(outcome, test: str) -> str:
    """What pytest prints of a failed test: one line."""
    [text] = re.findall(rf"^_+ {re.escape(test)} _+\n(.*?)(?=^[_=-]+ )", outcome.out, re.M | re.S)
    [line] = text.strip().splitlines()
    return line


@pytest.fixture
def mine(project):
    project.write("mine.py", MINE)
    project.write(
        "conftest.py",
        "from mine import STRATEGIES\n"
        "def pytest_ansorbench_strategies(config): return STRATEGIES\n",
    )
    return project


def failing(mine, names, *words):
    """Run strategies that fail, each in one line, and then one that does not."""
    mine.write("test_cases.py", STRATEGY_TESTS)
    outcome = mine.bench("-rN", *words)
    assert outcome.code == 1, outcome.text
    assert "INTERNALERROR" not in outcome.text
    assert "Traceback" not in outcome.text
    for name in names:
        mark, function, message, note = FAULTS[name]
        line = message_of(outcome, f"test_fault[{name}]")
        assert line.startswith(f"mine.py:{line_of(MINE, mark)}: in {function}: {message}"), line
        assert f"strategy '{name}'" in line.rpartition("(")[2]
        assert note in line
        assert line.endswith(HINT)
    return outcome


#: Of those that fail while there are processes to be ended.
MEASURED = ("learn-raises", "measure-raises", "measure-none")


def test_a_faulty_strategy_fails_its_test_in_one_line_and_the_next_test_runs(mine):
    words = ("-k", "learn or measure or fine", "--ansor-progress=believed")
    outcome = failing(mine, MEASURED, *words)
    assert f"{len(MEASURED)} failed, 1 passed" in outcome.out
    assert living_servers()


@pytest.mark.usefixtures("fast_engine")
def test_so_does_one_whose_fault_is_elsewhere(mine):
    others = [name for name in FAULTS if name not in MEASURED]
    outcome = failing(mine, others, "-k", "not learn and not measure")
    assert f"{len(others) + 1} failed, 1 passed" in outcome.out
    assert message_of(outcome, "test_fault[no-model]") == (
        "bad cost model None: Evolution ranks programs by a cost model; expected one, e.g. "
        "cost_model=XGBoostModel() (while starting strategy 'no-model')"
    )


@pytest.mark.usefixtures("fast_engine")
def test_a_strategys_traceback_is_shown_on_demand(mine):
    mine.write("test_cases.py", CASES.replace("one,two", "fine,propose-raises"))
    outcome = mine.bench("--full-trace")
    assert "1 failed" in outcome.out
    assert f"mine.py:{line_of(MINE, 'planted')}: ValueError" in outcome.out
    assert "loop.py" in outcome.out


@pytest.mark.usefixtures("fast_engine")
def test_a_run_goes_on_from_its_journal_once_the_strategy_is_mended(mine):
    cases = CASES.replace("one,two", "fine,mine")
    mine.write("test_cases.py", cases)

    def run(methods, *arguments):
        mine.write("mine.py", MINE + f"STRATEGIES.append(mine('mine', {methods}))\n")
        return mine.bench("-rN", *arguments)

    outcome = run("learn=failing_later()")
    assert "in fail: ValueError: planted (while telling strategy 'mine' what was" in outcome.out
    assert "to go on where this stopped: --ansor-resume=0001" in outcome.out
    outcome = run("recall=fail", "--ansor-resume")
    assert "1 failed" in outcome.out
    outcome = run("", "--ansor-resume", "--ansor-json=result.json")
    assert outcome.code == 0, outcome.text
    [case] = mine.json("result.json")["cases"]
    assert [run["strategy"] for run in case["runs"]] == ["fine", "mine"]


BROKEN_CASES = """
import pytest
from tests.faults import Doubling

class Tasks(Doubling):
    def tasks(self):
        return self.nonsense  # tasks

class Expression(Doubling):
    def expression(self, *inputs):
        from tvm import te
        return te.compute((64,), lambda i: inputs[0][i, i] * 2.0)  # expression

class Reference(Doubling):
    def reference(self, *inputs):
        return inputs[1]  # reference

class Flops(Doubling):
    @property
    def flops(self):
        return 1 // 0  # flops

class Check(Doubling):
    def check(self):
        raise KeyError("check")  # check

class Late(Doubling):
    def tasks(self):
        pytest.skip("nothing to do today")

@pytest.mark.ansor_bench(trials=2, round=2, repeats=1, strategy="one", final_turns=2, final_sets=1)
@pytest.mark.parametrize(
    "case", [Tasks(), Expression(), Reference(), Flops(), Check(), Late(), Doubling()],
    ids=lambda case: type(case).__name__,
)
def test_case(ansor_bench, case):
    ansor_bench(case)
"""


@pytest.mark.usefixtures("fast_engine")
def test_a_faulty_case_fails_its_test_in_one_line(project):
    project.write("test_cases.py", BROKEN_CASES)
    outcome = project.bench("-rN")
    assert outcome.code == 1, outcome.text
    assert "INTERNALERROR" not in outcome.text
    assert "Traceback" not in outcome.text
    assert "5 failed, 1 passed, 1 skipped" in outcome.out
    for name, function, error in (
        ("Tasks", "tasks", "AttributeError: 'Tasks' object has no attribute 'nonsense'"),
        ("Expression", "<lambda>", "ValueError: Need to provide 1 index in tensor but 2 was"),
        ("Reference", "reference", "IndexError: tuple index out of range"),
        ("Flops", "flops", "ZeroDivisionError: integer division or modulo by zero"),
        ("Check", "check", "KeyError: 'check'"),
    ):
        line = message_of(outcome, f"test_case[{name}]")
        number = line_of(BROKEN_CASES, name.lower())
        assert line.startswith(f"test_cases.py:{number}: in {function}: {error}")
        assert line.endswith(f"(while running the case; {HINT}")


@pytest.mark.usefixtures("fast_engine")
def test_a_faulty_listener_is_named_with_its_line(project):
    conftest = CONFTEST + (
        "\ndef pytest_ansorbench_case_finished(result):\n    result.nonsense  # listener\n"
    )
    project.write("conftest.py", conftest)
    outcome = project.bench("--ansor-strategy=one", "-rN")
    [line] = [line for line in outcome.out.splitlines() if "nonsense" in line]
    assert line.startswith(f"conftest.py:{line_of(conftest, 'listener')}: in pytest_ansorbench_")
    assert line.endswith(f"(while calling pytest_ansorbench_case_finished; {HINT}")


@pytest.mark.usefixtures("fast_engine")
def test_an_error_of_the_package_itself_is_not_blamed_on_anybody(project, monkeypatch):
    monkeypatch.setattr(Session, "run", None)
    outcome = project.bench()
    assert "TypeError: 'NoneType' object is not callable" in outcome.out
    assert HINT not in outcome.out


def fail_in(file, guard):
    """Fail under a guard, as if in another file, with no frame of this file in between."""
    names = {}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    exec(compile("def fail():\n    raise KeyError('planted')\n", str(file), "exec"), names)
    with ExitStack() as stack:
        stack.enter_context(guard)
        stack.callback(names["fail"])


@pytest.mark.parametrize("package", ["plugged.py", "plugged/deep/inside.py"])
def test_an_installed_package_that_offers_strategies_is_a_users(
    pytestconfig, tmp_path, monkeypatch, package
):
    paths = {**sysconfig.get_paths(), "purelib": str(tmp_path)}
    monkeypatch.setattr(sysconfig, "get_paths", lambda: paths)
    with pytest.raises(KeyError):
        fail_in(tmp_path / package, blame.usage_errors(pytestconfig, "while trying"))
    offering = EntryPoint("mine", "plugged.strategies:make", ENTRY_POINT_GROUP)
    monkeypatch.setattr(blame, "entry_points", lambda group: [offering])
    with pytest.raises(pytest.UsageError, match=rf"{package}:2: in fail: KeyError: 'planted' \("):
        fail_in(tmp_path / package, blame.usage_errors(pytestconfig, "while trying"))
    with pytest.raises(KeyError):
        fail_in(tmp_path / "elsewhere.py", blame.usage_errors(pytestconfig, "while trying"))


@pytest.mark.parametrize("outcome", [KeyboardInterrupt, pytest.skip.Exception, pytest.UsageError])
@pytest.mark.parametrize("guard", [blame.usage_errors, blame.failures])
def test_interrupts_and_outcomes_pass(pytestconfig, outcome, guard):
    with pytest.raises(outcome, match=r"^as it is$"), guard(pytestconfig, "while trying"):
        raise outcome("as it is")


def test_a_long_message_is_cut(pytestconfig):
    with (
        pytest.raises(pytest.fail.Exception, match=r"ValueError: (word )+\.\.\. \(while trying;"),
        blame.failures(pytestconfig, "while trying"),
    ):
        raise ValueError("word " * 1000)
