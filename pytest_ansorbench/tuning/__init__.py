"""Tuning without pytest: from a model to a folder with what is faster than before.

`ansor-bench tune` and `pytest_ansorbench.tune` are one session of the bench with a single arm and a
single repeat. Its loop, its journal and what makes it go on after a kill are the bench's own; here
is what a session has to be told, and what becomes of its outcome.

- `settings`: what options of a bench are for one arm. Leads are not measured again and the
  machine's noise is not looked at, since nothing is compared; the untuned program is timed once, to
  say what was gained.
- `journals`: which lines of an earlier call a later one takes over. A folder has one journal, of
  all calls so far. Each call writes it anew, whole, before it searches: of a case that is asked for
  again its rounds, so that the search relives them and goes on, and whole the fastest search with
  them that has ended; of all others every line. Another budget is no other case, other caches are:
  such a case is begun anew, and its old lines are kept. So are those of another strategy or seed.
- `fastest`: of all searches of a case that were measured alike, the one whose winner had the lowest
  latency at its end, when each is measured again in fresh processes; it stays.
- `learnt`: a strategy that begins with experience gets that of the other cases in the folder too.
- `compiled`: a case with the best schedules, as TVM's executable, as a library with its weights,
  and the script that loads it.
- `tuning`: the call itself. While it searches, the journal is all there is; then the database, the
  library, the report and the result are written, each file whole or not at all.
- `front`: the function that users call.

Layers: this package knows settings and sessions, and neither pytest nor options by their flags.
"""

from pytest_ansorbench.tuning.compiled import check_linker
from pytest_ansorbench.tuning.front import Tuned, tune
from pytest_ansorbench.tuning.settings import settings_of
from pytest_ansorbench.tuning.tuning import Tuning

__all__ = ["Tuned", "Tuning", "check_linker", "settings_of", "tune"]
