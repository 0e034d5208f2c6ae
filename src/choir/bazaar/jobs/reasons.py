"""Why a try, a check or an order came to nothing, in words.

Programs get a stable code such as `patch.does_not_apply`; people get these words, which fit after a colon. One table
for the command line, the SDK and the provider's process. Guarantees: every code that verification, workers, sandboxes
or the course of a job can give as a reason is here, which a test finds out from the code itself; a code that is not
here, for example of a newer node, is told as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

_COURSE = {
    "bazaar.another_was_first": "another provider was first",
    "bazaar.buyer_erased": "the buyer was erased",
    "bazaar.called_off": "it was cancelled",
    "bazaar.no_sandbox": "the node has no sandbox that is strong enough; `choir doctor` there explains",
    "bazaar.node_away": "the node was down at its deadline, which counts against nobody",
    "bazaar.not_verified": "the node failed to verify it, more than once",
    "bazaar.not_verified_in_time": "the node could not verify it in time",
    "bazaar.provider_gone": "the provider stopped answering",
    "bazaar.timed_out": "the provider timed out",
    "bazaar.withdrawn": "the provider withdrew",
}

# An order that nothing can be verified against.
_ORDERS = {
    "bazaar.bad_bid": "a bid below the price book is not valid",
    "bazaar.bad_blob": "the bytes of an input are not valid",
    "bazaar.bad_bond": "the amount of a bond is not valid",
    "bazaar.bad_budget": "the budget is out of range",
    "bazaar.budget_below_extras": "the budget leaves too little for the work beside its stronger checks",
    "bazaar.bad_claim": "a claim of the provider is not valid",
    "bazaar.bad_criteria": "the selection criteria are not valid",
    "bazaar.bad_days": "the number of days is not valid",
    "bazaar.bad_effective_time": "the price book's effective time is not valid",
    "bazaar.bad_field": "a field of the order is not valid",
    "bazaar.bad_index": "an index does not have the required shape",
    "bazaar.bad_inputs": "the order lacks an input that it needs",
    "bazaar.bad_order": "the order cannot be verified",
    "bazaar.bad_part": "a part of an upload is not valid",
    "bazaar.bad_pattern": "a path pattern of the order is not valid",
    "bazaar.bad_schema": "the JSON schema of the order is not valid",
    "bazaar.bad_skill": "the skill is not valid",
    "bazaar.bad_statement": "a statement is too long or empty",
    "bazaar.bad_strategy": "the selection strategy is not valid",
    "bazaar.no_base": "the repository bundle lacks the base commit",
    "bazaar.no_repository": "the file is neither an archive nor a git bundle",
    "bazaar.result_key_unproven": "the provider did not prove that it owns the result key",
    "bazaar.too_much_to_index": "the repository is too large to be indexed",
    "canonical.invalid": "its JSON has no canonical form",
    "invalid": "something in it is not valid",
    "money.malformed": "an amount in it is malformed",
    "money.out_of_range": "an amount in it is out of range",
    "money.typed_out_of_range": "an amount in it is out of range",
    "money.unknown_asset": "it names an asset that does not exist",
    "objects.bad_label": "a name or type of an object is not valid",
    "objects.not_an_atom": "an object is not canonical JSON",
    "objects.wrong_hash": "an object's bytes do not match its hash",
    "order.level_unreachable": "the order's checks cannot reach the level that it asks for",
    "order.nothing_to_index": "the commit has no file in a language that was ordered",
    "environments.bad_mirrors": "the operator's mirrors.toml is not valid",
    "order.host_not_offered": "set-ups on this node may not reach a host of the order",
    "order.no_environments": "the machine builds no environments",
    "order.no_image": "the node does not have the image of the order",
    "order.no_setup_file": "a set-up file of the order is not in the base commit",
    "order.no_tests": "the test command finds no test in the buyer's tree",
    "order.setup_failed": "the order's set-up failed",
    "order.setup_host_refused": "the order's set-up failed after it was refused a host that the order does not name",
    "order.setup_scattered": "the order's set-up adds folders in too many places of the tree",
    "order.setup_timed_out": "the order's set-up took too long",
    "order.setup_too_large": "the order's set-up writes, downloads or takes more than the limit",
    "order.tests_passed_before": "the tests pass already, without any work",
    "policy.out_of_bounds": "a policy value is out of bounds",
    "signature.bad": "a signature is not valid",
}

_ANY_DELIVERY = {
    "cheat.flattered": "results compare as equal to values that they cannot be equal to",
    "cheat.mutants_watched": "the code tells a changed copy of itself apart, so that its mutants show nothing",
    "cheat.runner_subverted": "a test that was made to fail is not reported as failed",
    "cheat.test_bypassed": "a test is reported as passed, but its assertions were not evaluated",
    "checks.failed": "an outside check does not write what the buyer expects",
    "checks.stopped": "an outside check was stopped at a limit",
    "artifact.hash_mismatch": "the artifact does not match its claimed hash",
    "build.failed": "the order's build command fails on the patched tree",
    "build.timed_out": "the order's build command exceeded the time limit",
    "build.too_large": "the order's build command writes more than the limit",
    "commands.failed": "a verification command of the buyer failed",
    "hidden.level_missed": "the verdict reaches a lower level than was ordered",
    "hidden.failed": "a hidden check failed in every one of its runs",
    "result.not_success": "the provider did not report success",
}

_PATCHES = {
    "patch.compiled_code": "the patch adds compiled code, which cannot be inspected",
    "patch.conftest_changed": "the patch changes or adds a conftest.py",
    "patch.deciding_test_added": "the patch adds a file that affects the verdict",
    "patch.deciding_test_changed": "the patch changes a test or a file among the tests",
    "patch.deciding_test_deleted": "the patch deletes a test or a file among the tests",
    "patch.does_not_apply": "the diff does not apply to the base commit",
    "patch.empty": "the diff changes nothing",
    "patch.git_internals": "the patch changes git's own files",
    "patch.link": "the patch adds or moves a symbolic link",
    "patch.link_escapes": "the patch adds a link that points outside the repository",
    "patch.mode_not_allowed": "the diff sets a file mode other than plain, executable or link",
    "patch.padded": "too many changed files add nothing to the patch",
    "patch.path_ambiguous": "a path has unusual characters or differs from another only by case or Unicode form",
    "patch.path_disallowed": "the patch changes a file that the order disallows",
    "patch.path_escapes": "a path of the diff points outside the repository",
    "patch.path_not_allowed": "the patch changes a file outside the allowed paths",
    "patch.shadows_module": "the patch adds a module that shadows one of the test runner or Python",
    "patch.startup_hook": "the patch changes code that Python loads at startup",
    "patch.submodule": "the diff adds or moves a submodule, which cannot be inspected",
    "patch.test_command_changed": "the patch changes a file that the test command runs",
    "patch.test_configuration_changed": "the patch changes how the tests are configured",
    "patch.test_plugin_changed": "the patch changes a plugin of the test runner",
    "patch.too_large": "the diff or its result is larger than the limit",
    "patch.too_many_files": "the patch changes too many files",
    "patch.unreadable_code": "a Python file that could be parsed before the patch cannot be parsed now",
    "patch.unsafe_entry": "the patched tree contains something that is not a regular file",
    "patch.whitespace_only": "the patch changes only white space",
    "patch.wrong_base": "the diff was made against another commit",
}

_TESTS = {
    "tests.mutation_floor": "the tests notice fewer mutants of the changed lines than the order's floor",
    "tests.exit_code_forged": "the process exit code differs from the test runner's",
    "tests.failed": "the buyer's tests fail",
    "tests.missing": "tests of the buyer are missing from the report",
    "tests.others_broken": "tests that passed before now fail or are missing",
    "tests.out_of_memory": "the tests exceeded their memory limit",
    "tests.output_flood": "the tests exceeded the output limit and were stopped",
    "tests.report_forged": "the test report does not match the test run",
    "tests.report_incomplete": "the tests ended before all of the buyer's tests were reported",
    "tests.skipped": "tests of the buyer were skipped that were not skipped before",
    "tests.suite_incomplete": "the whole suite did not finish",
    "tests.test_replaced": "a test with the name of a buyer's test is not the buyer's",
    "tests.timed_out": "the tests exceeded the time limit",
}

_OTHER_WORK = {
    "index.counts_differ": "the result claims other numbers than the index has",
    "index.file_absent": "the index lists a file that is not in the commit",
    "index.file_differs": "a file is not what the index says",
    "index.file_missing": "a file of the commit is missing in the index",
    "index.malformed": "the index does not have the required shape",
    "index.reference_absent": "a name is not used where the index says",
    "index.references_unresolved": "references are not resolved as the format says",
    "index.symbol_absent": "a symbol is not where the index says",
    "index.symbols_differ": "indexed again, sampled files have other symbols or references",
    "index.too_large": "the index is larger than the limit",
    "index.vectors_differ": "an embedding is not what the named model gives",
    "index.wrong_commit": "the index is of another commit",
    "index.wrong_embeddings": "the index lacks ordered embeddings, or has some that were not ordered",
    "index.wrong_languages": "the index is of other languages than ordered",
    "second_review.blocking": "a second reviewer found a defect that is severe enough to refuse it",
    "second_review.missing": "no second reviewer was found in time, and the order requires one",
    "review.code_absent": "the code that the review quotes is not there",
    "review.file_absent": "the review names a file that is not in the diff",
    "review.fix_breaks_code": "a suggested fix breaks a file's Python syntax",
    "review.fix_does_not_apply": "a suggested fix changes nothing or cannot be applied",
    "review.lines_absent": "the review points at lines that the diff does not show",
    "review.malformed": "the review does not have the required shape",
    "review.no_summary": "the review has no meaningful summary",
    "review.nothing_said": "the review has no finding, and no statement about each file",
    "review.planted_missed": "the diff has planted defects, and the review names none",
    "review.points_everywhere": "the review flags more than half of all lines",
    "review.repeated": "the review repeats itself",
    "run.exit_code": "the command's exit code is not the ordered one",
    "run.exit_code_differs": "result and output have different exit codes",
    "run.malformed": "the output does not have the required shape",
    "run.output_differs": "re-run, the command gives a different output or exit code",
    "text.not_json": "the text is not JSON",
    "text.schema": "the JSON does not match the ordered schema",
    "text.too_large": "the text has more bytes than the limit",
    "text.too_long": "the text has more tokens than were ordered",
    "text.too_short": "the text is shorter than ordered",
}

_TRAJECTORIES = {
    "trajectory.after_end": "the trajectory continues after its end",
    "trajectory.bad_header": "the header of the trajectory is not valid",
    "trajectory.bad_line": "a line of the trajectory is not valid",
    "trajectory.forged": "the trajectory is not signed by its provider",
    "trajectory.no_start": "the trajectory does not begin with its one start line",
    "trajectory.not_text": "the trajectory is not UTF-8 text",
    "trajectory.outside_time": "the trajectory has times at which its provider did not have the job",
    "trajectory.repeated_id": "two tool calls of the trajectory have the same id",
    "trajectory.time_backwards": "time does not move forward in the trajectory",
    "trajectory.too_large": "the trajectory is larger than the limit",
    "trajectory.truncated": "the trajectory is cut off before its end",
    "trajectory.wrong_base": "the trajectory is for another commit",
    "trajectory.wrong_count": "the trajectory's line count is wrong",
    "trajectory.wrong_hash": "the trajectory does not match its claimed hash",
    "trajectory.wrong_job": "the trajectory is for another job",
    "trajectory.wrong_provider": "the trajectory is for another provider",
    "trajectory.wrong_result": "a tool result of the trajectory does not match its hash",
    "trajectory.wrong_type": "the trajectory is for another job type",
}

# What failed on the machine that worked or verified.
_MACHINES = {
    "sandbox.bad_address": "the repository's address is not valid",
    "sandbox.egress_failed": "a network request of the sandbox failed",
    "sandbox.egress_refused": "a network request of the sandbox was refused",
    "sandbox.layer_in_use": "an environment's layer is in use",
    "sandbox.limit_missing": "the machine cannot enforce limits on untrusted code",
    "sandbox.no_filter": "the machine has no system call filter",
    "sandbox.no_uid_folder": "the machine has no folder for the locks on its user ids",
    "sandbox.no_uid_left": "all user ids for sandboxes are in use",
    "sandbox.not_a_repository": "the repository cannot be prepared",
    "sandbox.not_gone": "a killed sandbox did not end",
    "sandbox.pool_closed": "the sandbox pool was closed before the run started",
    "sandbox.pool_full": "too many runs wait for a sandbox",
    "sandbox.pool_too_small": "the run needs more memory than all sandboxes have",
    "sandbox.start_failed": "the sandbox could not be started",
    "sandbox.tier_missing": "the sandbox tier does not work on the machine",
    "sandbox.tier_too_weak": "the sandbox tier is too weak for the run",
    "sandbox.too_large": "a file is too large for the sandbox",
    "sandbox.too_little_memory": "the run has too little memory for its sandbox",
    "sandbox.too_much": "the input for the sandbox is too large",
    "sandbox.unsafe_entry": "a file or link in it is not safe to unpack",
    "worker.bad_profile": "the worker's profile is not valid",
    "worker.broke_down": "its worker crashed",
    "worker.cancelled": "the work was cancelled",
    "worker.no_place": "no worker can take it now",
    "worker.no_tool": "a tool is not installed there",
    "worker.not_done": "the work was not done",
    "worker.not_mine": "its worker cannot do this",
    "worker.secret_inside": "the artifact contained a secret of the provider",
    "worker.stuck": "its worker did not stop on request",
    "worker.use_unreadable": "the provider's own record of model use cannot be read",
    "worker.time_up": "the work was not done in time",
}

WORDS: Mapping[str, str] = {
    **_COURSE, **_ORDERS, **_ANY_DELIVERY, **_PATCHES, **_TESTS, **_OTHER_WORK, **_TRAJECTORIES, **_MACHINES,
}  # fmt: skip

# What no honest delivery does by accident. A newer verification says `cheat.…` itself.
CHEATING = frozenset(
    {
        "tests.exit_code_forged", "tests.report_forged", "tests.test_replaced",
    }
)  # fmt: skip


def names_cheating(reason: str) -> bool:
    """Whether a reason says that somebody tried to deceive the verifier: nobody is given anything for that."""
    return reason.startswith("cheat.") or reason in CHEATING


def in_words(reason: str) -> str:
    """Why something ended, for people."""
    return WORDS.get(reason, reason)
