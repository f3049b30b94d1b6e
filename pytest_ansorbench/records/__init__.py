"""What a benchmark leaves behind: frozen records, from one trial up to a whole result.

Every later stage (statistics, reports, files, gates) reads these and nothing else, so a
saved result holds exactly what reproduces its tables. Standard library only: analysing a
result file takes neither TVM nor pytest. `codec` turns records into JSON and back.

Units are in the names: `_s` seconds, `_gflops` 10^9 floating-point operations a second.
"""

from pytest_ansorbench.records.checks import RecordError
from pytest_ansorbench.records.noise import MachineNoise, Moment, NoiseTrace
from pytest_ansorbench.records.results import (
    OLDEST_SCHEMA_VERSION,
    SCHEMA_VERSION,
    CaseResult,
    Result,
)
from pytest_ansorbench.records.runs import (
    TRIAL_STATUSES,
    Checked,
    GpuState,
    LastRanking,
    MachineState,
    Peer,
    Recording,
    Remeasurement,
    Round,
    Run,
    TaskRanking,
    TaskRecord,
    Trial,
    TrialStatus,
)
from pytest_ansorbench.records.shards import Shard, Shards
from pytest_ansorbench.records.verdicts import (
    Advice,
    ArmSummary,
    Bound,
    Comparison,
    Estimate,
    Gate,
    Outcome,
    Reason,
    SuiteFigure,
    SuiteVerdict,
    Verdict,
    worst,
)
from pytest_ansorbench.records.yardsticks import (
    IMPLEMENTATIONS,
    PEERS,
    Bandwidth,
    Implementation,
    MachinePeak,
    Operands,
    ReferenceKernel,
    Yardsticks,
)

__all__ = [
    "IMPLEMENTATIONS",
    "OLDEST_SCHEMA_VERSION",
    "PEERS",
    "SCHEMA_VERSION",
    "TRIAL_STATUSES",
    "Advice",
    "ArmSummary",
    "Bandwidth",
    "Bound",
    "CaseResult",
    "Checked",
    "Comparison",
    "Estimate",
    "Gate",
    "GpuState",
    "Implementation",
    "LastRanking",
    "MachineNoise",
    "MachinePeak",
    "MachineState",
    "Moment",
    "NoiseTrace",
    "Operands",
    "Outcome",
    "Peer",
    "Reason",
    "RecordError",
    "Recording",
    "ReferenceKernel",
    "Remeasurement",
    "Result",
    "Round",
    "Run",
    "Shard",
    "Shards",
    "SuiteFigure",
    "SuiteVerdict",
    "TaskRanking",
    "TaskRecord",
    "Trial",
    "TrialStatus",
    "Verdict",
    "Yardsticks",
    "worst",
]
