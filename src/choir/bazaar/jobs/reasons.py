"""Why a try, a check or an order came to nothing, in words.

Programs get a stable code such as `patch.does_not_apply`; people get these words, which fit after a colon. One table
for the command line, the SDK and the provider's process. Guarantees: every code that verification, workers, sandboxes
or the course of a job can give as a reason is here, which a test finds out from the code itself; a code that is not
here, for example of a newer node, is told as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

_COURSE = {
    "bazaar.another_was_first": "another was first",
    "bazaar.buyer_erased": "the buyer is gone",
    "bazaar.called_off": "it was called off",
    "bazaar.no_sandbox": "the node has no sandbox that is firm enough; `choir doctor` there says why",
    "bazaar.node_away": "the node was away when its time ended, which counts against nobody",
    "bazaar.not_verified": "the node failed to verify it, more than once",
    "bazaar.not_verified_in_time": "the node could not verify it in time",
    "bazaar.provider_gone": "a provider no longer answered",
    "bazaar.timed_out": "a provider was too late",
    "bazaar.withdrawn": "a provider gave it back",
}

# An order that nothing can be verified against.
_ORDERS = {
    "bazaar.bad_blob": "the bytes of an input are not what they should be",
    "bazaar.bad_budget": "the budget is out of range",
    "bazaar.bad_claim": "what the provider claims about itself cannot be",
    "bazaar.bad_criteria": "nobody can be selected by these criteria",
    "bazaar.bad_effective_time": "a price book cannot take effect then",
    "bazaar.bad_field": "a field of the order is not valid",
    "bazaar.bad_inputs": "the order lacks an input that it needs",
    "bazaar.bad_order": "the order cannot be verified against",
    "bazaar.bad_part": "a part of an upload does not fit",
    "bazaar.bad_pattern": "a path pattern of the order is not valid",
    "bazaar.bad_schema": "the JSON schema of the order is not valid",
    "bazaar.bad_statement": "a statement is too long or empty",
    "bazaar.bad_strategy": "the fallback strategy is not known",
    "bazaar.no_base": "the repository that was sent lacks the base commit",
    "bazaar.result_key_unproven": "the result key was not shown to be the provider's",
    "canonical.invalid": "its JSON has no canonical form",
    "invalid": "something in it is not valid",
    "money.malformed": "an amount in it is not written as one",
    "money.out_of_range": "an amount in it is out of range",
    "money.typed_out_of_range": "an amount in it is out of range",
    "money.unknown_asset": "it names an asset that does not exist",
    "objects.bad_label": "a name or type of an object is not valid",
    "objects.not_an_atom": "an object is not canonical JSON",
    "objects.wrong_hash": "an object's bytes do not have its hash",
    "order.no_tests": "the test command finds no test in the buyer's tree",
    "order.tests_passed_before": "the tests pass already, without any work",
    "policy.out_of_bounds": "a policy value is out of bounds",
    "signature.bad": "a signature does not fit",
}

_ANY_DELIVERY = {
    "artifact.hash_mismatch": "what was handed in does not have the hash that was claimed",
    "commands.failed": "a verification command of the buyer's failed",
    "hidden.failed": "a hidden check failed in every one of its runs",
    "result.not_success": "the provider itself does not call it a success",
}

_PATCHES = {
    "patch.compiled_code": "the patch brings in compiled code, which cannot be looked at",
    "patch.conftest_changed": "the patch changes or adds a conftest.py",
    "patch.deciding_test_added": "the patch adds a file that decides; only the buyer's own count",
    "patch.deciding_test_changed": "the patch changes a test, or what lies among tests",
    "patch.deciding_test_deleted": "the patch deletes a test, or what lies among tests",
    "patch.detects_tests": "the patch brings in code that asks whether it is being tested",
    "patch.does_not_apply": "the diff does not apply to the base commit",
    "patch.empty": "the diff changes nothing",
    "patch.git_internals": "the patch touches git's own files",
    "patch.link": "the patch makes or moves a link",
    "patch.link_escapes": "the patch makes a link that leads out of the repository",
    "patch.mode_not_allowed": "the diff sets a file mode other than plain, executable or link",
    "patch.padded": "many changed files add nothing to the patch",
    "patch.path_ambiguous": "a path has odd characters or differs from another only by case or form",
    "patch.path_disallowed": "the patch changes a file that the order disallows",
    "patch.path_escapes": "a path of the diff leads out of the repository",
    "patch.path_not_allowed": "the patch changes a file outside the allowed paths",
    "patch.reaches_into_runner": "the patch brings in code that reaches into the running interpreter",
    "patch.shadows_module": "the patch adds a module that stands before the runner's or Python's own",
    "patch.startup_hook": "the patch changes what every Python process loads before the tests",
    "patch.submodule": "the diff adds or moves a submodule, which brings in code that nobody has looked at",
    "patch.test_command_changed": "the patch changes a file that the test command runs",
    "patch.test_configuration_changed": "the patch changes how the tests are configured",
    "patch.test_plugin_changed": "the patch changes a plugin of the test runner",
    "patch.too_large": "the diff, or what it makes, is larger than the limit",
    "patch.too_many_files": "the patch changes too many files",
    "patch.unreadable_code": "the patch brings in Python that cannot be read, so it cannot be looked at",
    "patch.unsafe_entry": "the patched tree holds something that is no plain file",
    "patch.whitespace_only": "the patch changes nothing but white space",
    "patch.wrong_base": "the diff was made against another commit",
}

_TESTS = {
    "tests.depends_on_runner": "tests pass only where the code can see that it is being tested",
    "tests.exit_code_forged": "the process ended with another code than the test runner",
    "tests.failed": "the buyer's tests fail",
    "tests.missing": "tests of the buyer are missing from the report",
    "tests.others_broken": "tests that passed before fail or are gone",
    "tests.out_of_memory": "the tests used more memory than they were given",
    "tests.output_flood": "the tests wrote more than the limit and were stopped",
    "tests.report_forged": "what was reported of the tests is not what happened in them",
    "tests.report_incomplete": "the tests ended before all of the buyer's were reported on",
    "tests.runner_subverted": "a test that was made to fail is not reported as failed",
    "tests.skipped": "tests of the buyer were skipped that were not skipped before",
    "tests.suite_incomplete": "the whole suite did not come to its end",
    "tests.test_replaced": "a test that ran under a buyer's name is not the buyer's",
    "tests.timed_out": "the tests did not end within the time limit",
}

_OTHER_WORK = {
    "review.code_absent": "the code that the review quotes does not stand there",
    "review.file_absent": "the review speaks of a file that is not in the diff",
    "review.fix_breaks_code": "a suggested fix turns a file into something that Python cannot read",
    "review.fix_does_not_apply": "a suggested fix changes nothing, or cannot be put in",
    "review.lines_absent": "the review points at lines that the diff does not show",
    "review.malformed": "the review does not have the shape that was ordered",
    "review.no_summary": "the review has no summary that says anything",
    "review.nothing_said": "the review has no finding, and no statement about each file",
    "review.planted_missed": "the diff has defects that were put there, and the review names none",
    "review.points_everywhere": "the review finds fault with more than half of all lines",
    "review.repeated": "the review says the same thing twice",
    "run.exit_code": "the command ended with another code than was ordered",
    "run.exit_code_differs": "result and output name different exit codes",
    "run.malformed": "the output does not have the shape that was ordered",
    "run.output_differs": "run again, the command gives another output or code",
    "text.not_json": "the text is not JSON",
    "text.schema": "the JSON does not have the ordered shape",
    "text.too_large": "the text has more bytes than the limit",
    "text.too_long": "the text has more tokens than were ordered",
    "text.too_short": "the text is shorter than ordered",
}

_TRAJECTORIES = {
    "trajectory.after_end": "the trajectory goes on after its end",
    "trajectory.bad_header": "the header of the trajectory is not valid",
    "trajectory.bad_line": "a line of the trajectory is not valid",
    "trajectory.forged": "the trajectory is not signed by its provider",
    "trajectory.no_start": "the trajectory does not begin with its one start line",
    "trajectory.not_text": "the trajectory is not UTF-8 text",
    "trajectory.outside_time": "the trajectory tells of a time in which its provider did not have the job",
    "trajectory.repeated_id": "two tool calls of the trajectory have one id",
    "trajectory.time_backwards": "time does not move forward in the trajectory",
    "trajectory.too_large": "the trajectory is larger than the limit",
    "trajectory.truncated": "the trajectory breaks off before its end",
    "trajectory.wrong_base": "the trajectory is of work on another commit",
    "trajectory.wrong_count": "the trajectory has another number of lines than it says",
    "trajectory.wrong_hash": "the trajectory does not have the hash that was claimed",
    "trajectory.wrong_job": "the trajectory is of another job",
    "trajectory.wrong_provider": "the trajectory is of another provider",
    "trajectory.wrong_result": "a tool result of the trajectory does not have its hash",
    "trajectory.wrong_type": "the trajectory is of another type of job",
}

# What failed on the machine that worked or verified.
_MACHINES = {
    "sandbox.egress_failed": "a request of the sandbox could not be carried out",
    "sandbox.egress_refused": "the sandbox asked for something that it may not reach",
    "sandbox.limit_missing": "the machine cannot firmly limit strangers' code",
    "sandbox.no_filter": "the machine has no system call filter",
    "sandbox.no_uid_folder": "the machine has no folder for the locks on its user ids",
    "sandbox.no_uid_left": "all user ids for sandboxes are in use",
    "sandbox.not_a_repository": "the repository cannot be prepared",
    "sandbox.not_gone": "a sandbox that was killed did not end",
    "sandbox.pool_closed": "the sandboxes were closed before the run began",
    "sandbox.pool_full": "too many runs wait for a sandbox",
    "sandbox.pool_too_small": "the run needs more memory than all sandboxes have",
    "sandbox.start_failed": "the sandbox could not be started",
    "sandbox.tier_missing": "the sandbox tier does not work on the machine",
    "sandbox.tier_too_weak": "the sandbox tier is too weak for the run",
    "sandbox.too_large": "a file is too large for the sandbox",
    "sandbox.too_little_memory": "the run has too little memory for its sandbox",
    "sandbox.too_much": "what goes into the sandbox is too large",
    "sandbox.unsafe_entry": "a file or link in it is not safe to unpack",
    "worker.bad_profile": "the worker's profile is not valid",
    "worker.broke_down": "its worker broke down",
    "worker.cancelled": "the work was cancelled",
    "worker.no_place": "no worker can take it now",
    "worker.no_tool": "a tool is not installed there",
    "worker.not_done": "the work was not done",
    "worker.not_mine": "its worker cannot do this",
    "worker.secret_inside": "the artifact held a secret of the provider's",
    "worker.stuck": "its worker did not stop when it was told to",
    "worker.time_up": "the work was not done in time",
}

WORDS: Mapping[str, str] = {
    **_COURSE, **_ORDERS, **_ANY_DELIVERY, **_PATCHES, **_TESTS, **_OTHER_WORK, **_TRAJECTORIES, **_MACHINES,
}  # fmt: skip


def in_words(reason: str) -> str:
    """Why something ended, for people."""
    return WORDS.get(reason, reason)
