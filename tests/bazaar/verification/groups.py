"""The whole table, in the order of the page."""

from __future__ import annotations

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
    ("Reviews", REVIEWS),
    ("Runs", RUNS),
    ("Texts", TEXTS),
    ("Honest patches", HONEST),
    ("Honest patches: ordinary code", HONEST_CODE),
    ("Other honest deliveries", HONEST_OTHERS),
]
