"""What searches came to: the schedules that results keep, as programs again."""

from pytest_ansorbench.winners.database import (
    DatabaseError,
    database_of,
    export_database,
    replace_database,
)
from pytest_ansorbench.winners.imported import import_database
from pytest_ansorbench.winners.script import Script, scripts_of
from pytest_ansorbench.winners.winner import (
    NO_SCHEDULES,
    Winner,
    fastest_by,
    tuned_in,
    winners_of,
    winners_of_case,
)

__all__ = [
    "NO_SCHEDULES",
    "DatabaseError",
    "Script",
    "Winner",
    "database_of",
    "export_database",
    "fastest_by",
    "import_database",
    "replace_database",
    "scripts_of",
    "tuned_in",
    "winners_of",
    "winners_of_case",
]
