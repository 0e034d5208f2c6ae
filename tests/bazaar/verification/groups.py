"""The whole table, in the order of the page."""

from __future__ import annotations

from tests.bazaar.verification.cheats import FORGED, LIARS, NAMED, OTHERS, RUNNER, WATCHED, rows
from tests.bazaar.verification.honest import HONEST
from tests.bazaar.verification.honest_code import HONEST_CODE
from tests.bazaar.verification.hostile_code import CODE
from tests.bazaar.verification.hostile_diffs import CLAIMS, DECIDING, PATHS
from tests.bazaar.verification.other_deliveries import HONEST_OTHERS, REVIEWS, RUNS, TEXTS

GROUPS = [
    ("Patches: claims and sizes", CLAIMS),
    ("Patches: paths, links and modes", PATHS),
    ("Patches: what decides", DECIDING),
    ("Patches: code that fights the tests", CODE),
    ("Cheats against controlled tests: the known ways in", rows(NAMED)),
    ("Cheats against controlled tests: forged reports", rows(FORGED)),
    ("Cheats against controlled tests: the observer and the runner", rows(RUNNER)),
    ("Cheats against controlled tests: flattering values", rows(LIARS)),
    ("Cheats against controlled tests: unittest, errors, mutants", rows(OTHERS)),
    ("Cheats against controlled tests: right only where it is watched", rows(WATCHED)),
    ("Reviews", REVIEWS),
    ("Runs", RUNS),
    ("Texts", TEXTS),
    ("Honest patches", HONEST),
    ("Honest patches: ordinary code", HONEST_CODE),
    ("Other honest deliveries", HONEST_OTHERS),
]
