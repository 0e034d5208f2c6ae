"""SandboxRun: the output is whole and is what was claimed; a deterministic command is run again by sampling.

CPU time is what our own run measured, or at most the limit that was fixed at assignment: a claim can only lower it.
"""

from __future__ import annotations

from collections.abc import Callable

from choir.bazaar.contracts import RunOutput, SandboxRunRequest, SandboxRunResult
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.model import Delivery, Findings, Order, Runs
from choir.bazaar.verification.trees import guarded
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import Entropy
from choir.foundation.errors import ChoirError
from choir.sandbox.model import EndReason, Limits, Result, Spec


def run_spec(request: SandboxRunRequest, policy: VerificationPolicy) -> Spec:
    """The run that was ordered. Provider and verifier use the same."""
    return Spec(
        argv=request.argv,
        stdin=request.stdin.encode(),
        environment=dict(request.environment),
        limits=Limits(
            cpu_s=request.cpu_s_max,
            memory_bytes=request.memory_bytes_max,
            wall_s=min(request.terms.time_limit_s, policy.test_wall_s + request.cpu_s_max),
            output_bytes=policy.run_output_bytes_max,
        ),
    )


def output_of(result: Result) -> RunOutput:
    """The artifact of a run."""
    return RunOutput(min(result.exit_code, 255), result.stdout, result.stderr)


def verify(
    order: Order,
    delivery: Delivery,
    runs: Runs,
    policy: VerificationPolicy,
    entropy: Entropy,
    findings: Findings,
    cancelled: Callable[[], bool],
    rerun: bool,
) -> None:
    """All checks of a run. With `rerun` a deterministic command is run again for certain."""
    request, result = order.request, delivery.result
    assert isinstance(request, SandboxRunRequest)
    assert isinstance(result, SandboxRunResult)
    try:
        output = RunOutput.from_bytes(delivery.artifact, policy)
    except ChoirError:
        findings.need("shape", "run.malformed", "The output does not have the required shape.")
        return
    findings.need("shape")
    wrong = result.exit_code != output.exit_code
    findings.need(
        "exit code", *(("run.exit_code_differs", "Result and output have different exit codes.") if wrong else ())
    )
    if request.exit_code is not None and output.exit_code != request.exit_code:
        findings.need("exit code as ordered", "run.exit_code", f"The command must exit with code {request.exit_code}.")
    findings.units_milli = min(result.cpu_milli, request.cpu_s_max * 1000)
    drawn = rerun or int.from_bytes(entropy.bytes(4)) % 10_000 < policy.run_rerun_bps
    if request.deterministic and drawn:
        _rerun(request, output, runs, policy, findings, cancelled)
    else:
        why = "not deterministic" if not request.deterministic else "not drawn"
        findings.need("re-run", details=f"Not run again: {why}.", evidence={"rerun": False, "why": why})


def _rerun(
    request: SandboxRunRequest,
    output: RunOutput,
    runs: Runs,
    policy: VerificationPolicy,
    findings: Findings,
    cancelled: Callable[[], bool],
) -> None:
    again = guarded(runs, run_spec(request, policy), cancelled)
    findings.tier = again.tier.label
    ours = output_of(again)
    findings.units_milli = min(round(again.usage.cpu_s * 1000), request.cpu_s_max * 1000)
    evidence = {"rerun": True, "stdout": bytes_hash(ours.stdout), "stderr": bytes_hash(ours.stderr)}
    evidence |= {"exit_code": ours.exit_code, "ended": again.ended.value}
    same = again.ended is EndReason.EXITED and ours == output
    differs = ("run.output_differs", "Re-run, the command gives a different output or exit code.")
    findings.need("re-run", *(("", "") if same else differs), evidence=evidence)
