"""Which tier runs what, with which limits. Pure: specs, policy and capabilities in, decisions out.

Guarantees: a run never gets a weaker tier than it asked for or needs; local is never chosen for anyone;
strangers' code is refused where a limit it needs is missing; every number stays below its ceiling.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from choir.foundation.errors import ChoirError, Invalid
from choir.sandbox.model import (
    Capabilities,
    EffectiveLimits,
    LimitMissing,
    LimitName,
    Limits,
    Spec,
    SpecTooLarge,
    Tier,
    TierMissing,
    TierTooWeak,
    Trust,
)
from choir.sandbox.policy import SandboxPolicy

# Among tiers that run natively. The container has no user namespace and a filter by name: bubblewrap comes before it.
STRONGEST_NATIVE = (Tier.MICROVM, Tier.GVISOR, Tier.BUBBLEWRAP, Tier.CONTAINER)
FIRM = (LimitName.MEMORY, LimitName.PROCESSES, LimitName.DISK)  # what strangers' code must not be without
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_RESERVED_TARGETS = ("/proc", "/dev", "/sys", "/run/choir")


def effective_limits(asked: Limits, policy: SandboxPolicy) -> EffectiveLimits:
    """Defaults where nothing was asked for; a refusal above the ceiling."""
    output = _within("output_bytes", asked.output_bytes, policy.output_bytes, policy.output_bytes_max, low=0)
    wall = asked.wall_s if asked.wall_s is not None else policy.wall_s
    if not wall > 0:
        raise Invalid(what="wall_s", why="it must be more than 0 seconds")
    if wall > policy.wall_s_max:
        raise SpecTooLarge(what="wall_s", size=wall, limit=policy.wall_s_max)
    return EffectiveLimits(
        memory_bytes=_within("memory_bytes", asked.memory_bytes, policy.memory_bytes, policy.memory_bytes_max),
        processes=_within("processes", asked.processes, policy.processes, policy.processes_max),
        cpu_s=_within("cpu_s", asked.cpu_s, policy.cpu_s, policy.cpu_s_max),
        cores_milli=_within("cores_milli", asked.cores_milli, policy.cores_milli, 1_000_000, low=10),
        disk_bytes=_within("disk_bytes", asked.disk_bytes, policy.disk_bytes, policy.disk_bytes_max, low=4096),
        wall_s=wall,
        output_bytes=output,
        open_files=policy.open_files,
        inodes=policy.inodes,
        terminals=policy.terminals,
        flood_bytes=max(output * policy.output_flood_factor, policy.output_flood_bytes_min),
    )


def _within(what: str, asked: int | None, default: int, ceiling: int, low: int = 1) -> int:
    chosen = default if asked is None else asked
    if chosen > ceiling:
        raise SpecTooLarge(what=what, size=chosen, limit=ceiling)
    if chosen < low:
        raise Invalid(what=what, why=f"it must be at least {low}")
    return chosen


def check(spec: Spec, policy: SandboxPolicy) -> None:
    """A spec that can be run at all."""
    words = [*spec.argv, *spec.environment, *spec.environment.values()]
    if not spec.argv or not spec.argv[0]:
        raise Invalid(what="argv", why="it must name a program")
    if any(not _is_encodable(word) for word in words):
        raise Invalid(what="argv or environment", why="it has letters that no file system can hold")
    if any("\0" in word for word in words):
        raise Invalid(what="argv or environment", why="NUL is not allowed")
    for name in spec.environment:
        if not _NAME.match(name):
            raise Invalid(what=f"environment name '{name[:40]}'", why="letters, digits and _ only")
    size = sum(len(os.fsencode(word)) + 1 for word in words)
    if size > policy.environment_bytes_max:
        raise SpecTooLarge(what="argv and environment", size=size, limit=policy.environment_bytes_max)
    if len(spec.stdin) > policy.stdin_bytes_max:
        raise SpecTooLarge(what="stdin", size=len(spec.stdin), limit=policy.stdin_bytes_max)
    for mount in spec.mounts:
        check_target(mount.target)
    if spec.room:
        check_target(spec.room)


def _is_encodable(word: str) -> bool:
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        return False
    return True


def check_target(target: str) -> None:
    """Where a mount may appear: an absolute plain path that hides nothing the sandbox relies on."""
    parts = target.split("/")
    plain = target.startswith("/") and target != "/" and not {"", ".", ".."} & set(parts[1:])
    if not plain or any(f"{target}/".startswith(f"{reserved}/") for reserved in _RESERVED_TARGETS):
        raise Invalid(what=f"mount target '{target[:60]}'", why="it must be an absolute path outside /proc, /dev, /sys")


def tier_needed(spec: Spec, policy: SandboxPolicy) -> Tier:
    """The weakest tier that this code may run in."""
    if spec.trust is Trust.STRANGER:
        return max(spec.tier_min, Tier(policy.stranger_tier_min))
    return Tier.LOCAL if spec.tier is Tier.LOCAL else spec.tier_min


def choose(spec: Spec, known: Mapping[Tier, Capabilities], policy: SandboxPolicy) -> Capabilities:
    """The tier that will run this, or the refusal that explains why none does."""
    needed = tier_needed(spec, policy)
    if spec.tier is not None:
        if spec.tier < needed:
            raise TierTooWeak(tier=spec.tier.label, needed=needed.label)
        if spec.image is not None and spec.tier is not Tier.CONTAINER:
            raise Invalid(what="image", why="only the container tier runs an image by its name")
        chosen = _working(spec.tier, known)
    else:
        wanted = preference(spec, policy, [tier for tier in known if known[tier].native])
        working = [known[tier] for tier in wanted if tier in known and known[tier].works]
        last = Tier.CONTAINER if spec.image and wanted else _least(spec, policy)
        chosen = working[0] if working else _working(last, known)
    if chosen.tier is Tier.LOCAL and spec.egress is not None:
        raise Invalid(what="egress", why="the local tier has the host's network, so there is nothing to allow")
    _refuse_missing(spec, chosen, policy)
    _refuse_loaders(spec, chosen)
    return chosen


def _refuse_loaders(spec: Spec, chosen: Capabilities) -> None:
    """Without groups a program inside sets the limits on itself; whoever steers its loader runs before it does."""
    counted = LimitName.MEMORY.value in chosen.applied
    names = [name for name in spec.environment if name.startswith("LD_")]
    if names and not counted and chosen.tier is Tier.BUBBLEWRAP:
        raise Invalid(what=f"environment name '{names[0][:40]}'", why="without control groups it could undo the limits")


def preference(spec: Spec, policy: SandboxPolicy, native: Collection[Tier]) -> list[Tier]:
    """The tiers that fit a run which names none, the best first. Strangers' code gets the strongest that runs natively;
    what does not run natively comes last, the weakest first, as all tiers do for one's own code."""
    if spec.image is not None:
        fitting = [tier for tier in (Tier.CONTAINER,) if tier >= _least(spec, policy)]
    else:
        fitting = [tier for tier in Tier if tier >= _least(spec, policy)]
    if spec.trust is Trust.OWN:
        return fitting
    first = [tier for tier in STRONGEST_NATIVE if tier in fitting and tier in native]
    return first + [tier for tier in fitting if tier not in first]


def _least(spec: Spec, policy: SandboxPolicy) -> Tier:
    return max(tier_needed(spec, policy), Tier.BUBBLEWRAP)


def default_tier(known: Mapping[Tier, Capabilities], policy: SandboxPolicy) -> Tier | None:
    """Where strangers' code runs on this machine if nobody asks for more; None where it is refused."""
    try:
        return choose(Spec(argv=("true",)), known, policy).tier
    except ChoirError:
        return None


def why_not_default(item: Capabilities, default: Tier | None, policy: SandboxPolicy) -> str:
    """Why strangers' code runs in another tier than this one, which works."""
    if default is None or item.tier is default or not item.works or stranger_refusal(item, policy):
        return ""
    if not item.native:
        return f"Not the default for untrusted code: it works but not natively, and {default.label} does."
    if item.tier is Tier.CONTAINER and default is Tier.BUBBLEWRAP:
        return (
            "Not the default for untrusted code: bubblewrap adds a user namespace and refuses system calls that its"
            " filter does not know, so this is not stronger; it is for images."
        )
    return f"Not the default for untrusted code: {default.label} is stronger and runs natively."


def _working(tier: Tier, known: Mapping[Tier, Capabilities]) -> Capabilities:
    found = known.get(tier)
    if found is None:
        raise TierMissing(tier=tier.label, why="this version does not have it.")
    if not found.works:
        raise TierMissing(tier=tier.label, why=found.why)
    return found


def missing_limits(applied: Mapping[str, str]) -> tuple[str, ...]:
    """The limits that nothing enforces, in order."""
    return tuple(limit.value for limit in LimitName if limit.value not in applied)


def applied_limits(spec: Spec, applied: Mapping[str, str]) -> dict[str, str]:
    """What enforces each limit for this very run."""
    found = dict(applied)
    if any(mount.writable for mount in spec.mounts):
        found.pop(LimitName.DISK.value, None)  # a folder of the host has no size of its own
    if spec.egress is not None and LimitName.NETWORK.value in found:
        found[LimitName.NETWORK.value] += "; one socket to the proxy"
    return found


LIMITS_REQUIRED = "sandbox.stranger_limits_required"  # the policy that `for_play` is an exception to


def for_play(policy: SandboxPolicy) -> SandboxPolicy:
    """For development on one's own machine, where an ordinary user has no control group: contained all the same, and
    limited in time, output and files, but with no firm limit of memory and processes."""
    return replace(policy, stranger_limits_required=0)


def stranger_refusal(known: Capabilities, policy: SandboxPolicy) -> str:
    """Why strangers' code may not run in a tier that works, or nothing."""
    least = Tier(policy.stranger_tier_min)
    if known.tier < least:
        return f"Untrusted code needs at least the tier {least.label}."
    loose = unlimited(known) if policy.stranger_limits_required else ""
    return f"Untrusted code is refused: {loose}." if loose else ""


def unlimited(known: Capabilities) -> str:
    """What has no firm limit in a tier, in words; nothing if all has one."""
    lacking = [limit.value for limit in FIRM if limit.value not in known.applied]
    return f"limits on {' and '.join(lacking)} cannot be enforced" if lacking else ""


def _refuse_missing(spec: Spec, chosen: Capabilities, policy: SandboxPolicy) -> None:
    if spec.trust is not Trust.STRANGER:
        return
    if lacking := _not_firm(applied_limits(spec, chosen.applied), policy):
        raise LimitMissing(limits=" and ".join(lacking), tier=chosen.tier.label)


def _not_firm(applied: Mapping[str, str], policy: SandboxPolicy) -> list[str]:
    return [limit.value for limit in FIRM if limit.value not in applied] if policy.stranger_limits_required else []
