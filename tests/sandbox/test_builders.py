"""Command lines, word by word, also for tiers and machines that are not here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from choir.foundation.errors import Invalid
from choir.sandbox import cgroups, rules
from choir.sandbox.egress.model import Egress
from choir.sandbox.model import (
    Capabilities,
    LimitMissing,
    Limits,
    Spec,
    StartFailed,
    Tier,
    TierMissing,
    TierTooWeak,
    Trust,
)
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.tiers import drivers
from choir.sandbox.tiers.base import PROGRAMS, BuiltCommand, Machine, MountPoint, Plan
from choir.sandbox.tiers.container import docker, podman
from choir.sandbox.tiers.stage import BindAct, FileAct, LinkAct, MountAct

POLICY = SandboxPolicy()
GROUPS = cgroups.Hierarchy(2, dict.fromkeys(("memory", "pids", "cpu", "cpuacct"), Path("/sys/fs/cgroup/choir")))
ROOT = Machine(
    uid=0,
    gid=0,
    architecture="x86_64",
    cgroups=GROUPS,
    programs={name: f"/usr/bin/{name}" for name in PROGRAMS},
    landlock_abi=7,
    cgroup_mounts="v2",
    usr_links=("bin", "lib"),
)
USER = replace(ROOT, uid=1000, gid=1000, cgroups=cgroups.NONE)


def plan(uid: int | None = 1_880_000_001, **more: object) -> Plan:
    spec = more.pop("spec", Spec(argv=("prog", "arg"), environment={"A": "b"}))
    assert isinstance(spec, Spec)
    facts = {
        "scratch": Path("/state/run_1"),
        "uid": uid,
        "join": ("/sys/fs/cgroup/choir/choir-run-run_1/cgroup.procs",) if uid else (),
        "seccomp_fd": 10,
        "status_fd": 11,
        "args_fd": 12,
        "etc_fds": (("passwd", 13),),
    } | more
    return Plan(run="run_1", spec=spec, limits=rules.effective_limits(spec.limits, POLICY), **facts)  # type: ignore[arg-type]


def options(built: BuiltCommand) -> list[str]:
    return built.options.decode().split("\0")


def has(words: list[str], *wanted: str) -> bool:
    return any(words[at : at + len(wanted)] == list(wanted) for at in range(len(words)))


def test_bubblewrap_as_root_joins_drops_and_unshares() -> None:
    built = drivers()[Tier.BUBBLEWRAP].build(plan(), ROOT)
    assert built.argv[:2] == ["/usr/bin/sh", "-c"]
    assert has(built.argv, "/usr/bin/setpriv", "--reuid", "1880000001", "--regid", "1880000001", "--clear-groups", "--")
    assert has(built.argv, "/usr/bin/bwrap", "--args", "12", "--", "/usr/bin/prlimit")
    assert built.argv[-2:] == ["prog", "arg"]
    words = options(built)
    for wanted in (
        ("--unshare-all",),
        ("--unshare-user",),
        ("--disable-userns",),
        ("--die-with-parent",),
        ("--new-session",),
        ("--cap-drop", "ALL"),
        ("--clearenv",),
        ("--seccomp", "10"),
        ("--setenv", "A", "b"),
        ("--ro-bind", "/usr", "/usr"),
        ("--bind", "/run/choir-sandbox/stage/work", "/work"),
        ("--bind", "/run/choir-sandbox/stage/tmp", "/tmp"),
        ("--dev-bind", "/run/choir-sandbox/stage/pts", "/dev/pts"),
        ("--remount-ro", "/"),
    ):
        assert has(words, *wanted), wanted
    assert "--share-net" not in words
    kinds = {act.kind: act.options.split(",") for act in built.acts if isinstance(act, MountAct)}
    assert {"size=256000000", "mode=0711"} <= set(kinds["tmpfs"])
    assert "max=16" in kinds["devpts"]
    assert not has(built.argv, "A", "b"), "the environment is not on the command line"


def test_bubblewrap_as_a_user_has_no_root_s_tools() -> None:
    built = drivers()[Tier.BUBBLEWRAP].build(plan(uid=None), USER)
    assert built.argv[0] == "/usr/bin/bwrap"
    assert built.acts == ()
    assert has(options(built), "--size", "256000000", "--perms", "0755", "--tmpfs", "/work")
    assert any(word.startswith("--as=") for word in built.argv), "memory by rlimit where there is no group"


def test_root_lends_what_its_sandboxes_cannot_reach() -> None:
    socket = MountPoint(1, "/state/run_1/egress.sock", "/run/choir/egress.sock", True, is_folder=False)
    built = drivers()[Tier.BUBBLEWRAP].build(plan(egress=socket, egress_token="t", forwarder="code"), ROOT)
    assert BindAct("/state/run_1/egress.sock", "/run/choir-sandbox/stage/1") in built.acts
    assert has(options(built), "--bind", "/run/choir-sandbox/stage/1", "/run/choir/egress.sock")
    assert has(options(built), "--setenv", "HTTP_PROXY", "http://job:t@127.0.0.1:3128")
    assert has(built.argv, "/usr/bin/python3", "-I", "-S", "-c", "code", "/run/choir/egress.sock", "prog", "arg")


@pytest.mark.parametrize("tier", [Tier.CONTAINER, Tier.GVISOR])
def test_bundles_are_hardened(tier: Tier) -> None:
    built = drivers()[tier].build(plan(), ROOT)
    config = json.loads(built.files["config.json"])
    process = config["process"]
    assert process["noNewPrivileges"]
    assert all(process["capabilities"][name] == [] for name in process["capabilities"])
    assert process["user"] == {"uid": 1_880_000_001, "gid": 1_880_000_001}
    assert config["root"]["readonly"]
    assert {item["type"] for item in config["linux"]["namespaces"]} >= {"pid", "network", "ipc", "uts", "mount"}
    assert "/proc/kcore" in config["linux"]["maskedPaths"]
    writable = [item["destination"] for item in config["mounts"] if "rw" in item["options"]]
    assert writable == ["/dev/shm", "/tmp", "/work"]
    assert process["user"]["uid"] == 1_880_000_001
    users = [act.content for act in built.acts if isinstance(act, FileAct) and act.path.endswith("/etc/passwd")]
    assert b"payload:x:1880000001:" in users[0]
    names = {name for rule in config["linux"]["seccomp"]["syscalls"] for name in rule["names"]}
    assert {"bpf", "keyctl", "mount", "unshare", "clone3", "socket", "io_uring_setup"} <= names
    assert has(built.argv, "--pdeathsig", "KILL", "--")
    assert "--kill-child" in built.argv
    if tier is Tier.GVISOR:
        assert "--network=none" in built.argv
        assert "--host-uds=open" not in built.argv


def test_hybrid_hosts_show_crun_a_plain_cgroup_two() -> None:
    plain = MountAct("cgroup2", "/sys/fs/cgroup")
    assert plain not in drivers()[Tier.CONTAINER].build(plan(), ROOT).acts
    built = drivers()[Tier.CONTAINER].build(plan(), replace(ROOT, cgroup_mounts="hybrid"))
    assert built.acts[-1] == plain
    joined = BindAct("/sys/fs/cgroup/choir/choir-run-run_1/cgroup.procs", "/run/choir-sandbox/stage/own/join0")
    assert joined in built.acts, "the groups are joined by a place that is not covered"
    assert "/run/choir-sandbox/stage/own/join0" in built.argv


@pytest.mark.parametrize("build", [podman, docker])
def test_images_by_name_are_hardened_too(build: object) -> None:
    limits = Limits(memory_bytes=100_000_000, processes=7)
    spec = Spec(argv=("prog",), image="debian:12", limits=limits, environment={"KEY": "secret"})
    built: BuiltCommand = build(plan(spec=spec, egress_token="token-of-the-job"), ROOT)  # type: ignore[operator]
    assert not [word for word in built.argv if "secret" in word or "token-of-the-job" in word]
    assert b"\nKEY=secret\n" in built.files["environment"]
    assert has(built.argv, "--env-file", "/state/run_1/environment")
    with pytest.raises(StartFailed):
        build(plan(spec=replace(spec, environment={"KEY": "two\nlines"})), ROOT)  # type: ignore[operator]
    for wanted in ("--rm", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"):
        assert wanted in built.argv
    assert "--pull=never" in built.argv
    assert "--security-opt=seccomp=/state/run_1/seccomp.json" in built.argv
    assert built.argv[built.argv.index("--", built.argv.index("--user=1880000001:1880000001")) + 1] == "debian:12"
    assert json.loads(built.files["seccomp.json"])["defaultAction"] == "SCMP_ACT_ALLOW"
    if build is docker:
        assert built.after == ("/usr/bin/docker", "rm", "--force", "run_1")
        assert has(built.argv, "timeout", "-s", "KILL", "120", "prog")
        assert has(built.argv, "--memory", "100000000", "--memory-swap", "100000000", "--pids-limit", "7")
    assert "--privileged" not in built.argv


def only(*engines: str) -> Machine:
    others = {"crun", "podman", "docker"} - set(engines)
    return replace(ROOT, programs={name: path for name, path in ROOT.programs.items() if name not in others})


def test_the_engine_follows_what_is_there() -> None:
    image = Spec(argv=("prog",), image="debian:12")
    assert "/usr/bin/podman" in drivers()[Tier.CONTAINER].build(plan(spec=image), only("podman", "docker")).argv
    assert "/usr/bin/docker" in drivers()[Tier.CONTAINER].build(plan(spec=image), only("docker")).argv
    assert drivers()[Tier.CONTAINER].applied(only("docker"), "debian:12")["memory"] == "docker's daemon"
    with pytest.raises(StartFailed):
        drivers()[Tier.CONTAINER].build(plan(spec=image), only("crun"))
    none = replace(ROOT, programs={"sh": "/bin/sh"})
    assert "crun not found" in drivers()[Tier.CONTAINER].missing(none)
    assert "podman runs images" in drivers()[Tier.CONTAINER].missing(only("podman"))
    assert drivers()[Tier.CONTAINER].missing(only("podman"), "debian:12") == ""
    assert drivers()[Tier.CONTAINER].missing(only("docker"), "debian:12") == ""
    assert "needs podman or docker" in drivers()[Tier.CONTAINER].missing(only("crun"), "debian:12")
    assert not drivers()[Tier.GVISOR].native(ROOT)
    assert drivers()[Tier.GVISOR].native(replace(ROOT, gvisor_platform="kvm"))
    assert "bwrap" in drivers()[Tier.BUBBLEWRAP].missing(none)
    assert "runsc" in drivers()[Tier.GVISOR].missing(none)
    assert "root" in drivers()[Tier.GVISOR].missing(USER)
    assert "Landlock" in drivers()[Tier.LOCAL].missing(replace(ROOT, landlock_abi=0))


def test_local_tells_its_launcher_everything_and_nothing_by_environment() -> None:
    built = drivers()[Tier.LOCAL].build(plan(uid=None), USER)
    facts = json.loads(built.options)
    assert built.argv[built.argv.index("-c") + 2] == str(built.inherit[0])
    assert '"A": "b"' not in " ".join(built.argv)  # everyone on the machine can read a command line
    assert facts["writable"][0] == "/state/run_1/work"
    assert facts["rlimits"]["nproc"] == POLICY.processes
    assert facts["environment"]["A"] == "b"
    assert "/etc/shadow" not in facts["readable"]


def test_local_has_processes_of_its_own_where_they_can_be_had() -> None:
    local = drivers()[Tier.LOCAL]
    able = replace(USER, own_namespaces=True)
    for machine, uid in ((able, None), (ROOT, 1_880_000_001)):
        words = local.build(plan(uid=uid), machine).argv
        assert {"--pid", "--ipc", "--kill-child", "--mount-proc"} <= set(words)
        assert local.own_ipc(machine)
    assert "--user" in local.build(plan(uid=None), able).argv
    assert "processes" in local.applied(able)
    assert "--pid" not in local.build(plan(uid=None), USER).argv
    assert not local.own_ipc(USER)
    assert any("leave some behind" in note for note in local.notes(USER))


def test_what_an_image_says_is_never_an_option_of_a_program_that_root_runs() -> None:
    image = plan(spec=Spec(argv=("x",), root=Path("/image")), root_links=(("passwd", "-ft/etc"),))
    for tier in (Tier.CONTAINER, Tier.GVISOR):
        built = drivers()[tier].build(image, ROOT)
        assert "-ft/etc" not in built.argv
        assert LinkAct("/run/choir-sandbox/stage/own/root/passwd", "-ft/etc") in built.acts


# --- which tier -------------------------------------------------------------------------------------


def known(*working: Tier, missing: tuple[str, ...] = ()) -> dict[Tier, Capabilities]:
    applied = {name: "x" for name in ("memory", "processes", "disk", "cpu", "network") if name not in missing}
    return {tier: Capabilities(tier, tier in working, "", "why", applied, missing) for tier in Tier}


def natively(*native: Tier, works: tuple[Tier, ...] = tuple(Tier)) -> dict[Tier, Capabilities]:
    return {tier: replace(item, native=tier in native) for tier, item in known(*works).items()}


def test_strangers_code_gets_the_strongest_tier_that_runs_natively() -> None:
    stranger, own = Spec(argv=("x",)), Spec(argv=("x",), trust=Trust.OWN)
    both = (Tier.BUBBLEWRAP, Tier.CONTAINER)
    assert rules.choose(stranger, natively(*both), POLICY).tier is Tier.BUBBLEWRAP
    assert rules.choose(stranger, natively(*both, Tier.GVISOR), POLICY).tier is Tier.GVISOR
    assert rules.choose(stranger, natively(*Tier), POLICY).tier is Tier.MICROVM
    assert rules.choose(own, natively(*Tier), POLICY).tier is Tier.BUBBLEWRAP
    assert rules.choose(stranger, natively(*both, works=(Tier.CONTAINER,)), POLICY).tier is Tier.CONTAINER
    assert rules.choose(stranger, natively(*both, works=(Tier.GVISOR,)), POLICY).tier is Tier.GVISOR
    more = replace(stranger, tier_min=Tier.CONTAINER)
    assert rules.choose(more, natively(*both), POLICY).tier is Tier.CONTAINER


def test_why_a_tier_is_not_the_default_is_said() -> None:
    here = natively(Tier.BUBBLEWRAP, Tier.CONTAINER, works=(Tier.BUBBLEWRAP, Tier.CONTAINER, Tier.GVISOR))
    default = rules.default_tier(here, POLICY)
    assert default is Tier.BUBBLEWRAP
    assert rules.why_not_default(here[Tier.BUBBLEWRAP], default, POLICY) == ""
    assert "not natively" in rules.why_not_default(here[Tier.GVISOR], default, POLICY)
    assert "user namespace" in rules.why_not_default(here[Tier.CONTAINER], default, POLICY)
    assert rules.default_tier(natively(works=(Tier.LOCAL,)), POLICY) is None


def test_an_image_by_its_name_runs_in_the_container_tier_or_not_at_all() -> None:
    image = Spec(argv=("x",), image="debian:12")
    assert rules.choose(image, known(*Tier), POLICY).tier is Tier.CONTAINER
    with pytest.raises(Invalid):
        rules.choose(replace(image, tier=Tier.BUBBLEWRAP), known(*Tier), POLICY)
    with pytest.raises(TierMissing):
        rules.choose(image, known(Tier.BUBBLEWRAP), POLICY)
    with pytest.raises(TierMissing):
        rules.choose(replace(image, tier_min=Tier.MICROVM), known(Tier.CONTAINER), POLICY)


def test_the_weakest_tier_that_is_strong_enough_is_chosen_and_never_local() -> None:
    everything = natively(Tier.BUBBLEWRAP, Tier.CONTAINER)
    assert rules.choose(Spec(argv=("x",)), everything, POLICY).tier is Tier.BUBBLEWRAP
    assert rules.choose(Spec(argv=("x",), tier_min=Tier.GVISOR), everything, POLICY).tier is Tier.GVISOR
    assert (
        rules.choose(Spec(argv=("x",), trust=Trust.OWN, tier_min=Tier.LOCAL), everything, POLICY).tier
        is Tier.BUBBLEWRAP
    )
    stronger = known(Tier.LOCAL, Tier.GVISOR)
    assert rules.choose(Spec(argv=("x",)), stronger, POLICY).tier is Tier.GVISOR
    with pytest.raises(TierMissing):
        rules.choose(Spec(argv=("x",), tier=Tier.BUBBLEWRAP), stronger, POLICY)
    with pytest.raises(TierMissing):
        rules.choose(Spec(argv=("x",)), known(Tier.LOCAL), POLICY)


def test_local_is_for_one_s_own_code_and_by_name_only() -> None:
    everything = known(*Tier)
    local = Spec(argv=("x",), tier=Tier.LOCAL, trust=Trust.OWN)
    assert rules.choose(local, everything, POLICY).tier is Tier.LOCAL
    with pytest.raises(TierTooWeak):
        rules.choose(replace(local, trust=Trust.STRANGER), everything, POLICY)
    with pytest.raises(Invalid):
        rules.choose(replace(local, egress=Egress(())), everything, POLICY)


def test_policy_can_ask_for_more_for_strangers() -> None:
    strict = replace(POLICY, stranger_tier_min=4)
    assert rules.choose(Spec(argv=("x",)), natively(Tier.BUBBLEWRAP), strict).tier is Tier.GVISOR
    lacking = known(Tier.BUBBLEWRAP, missing=("memory",))
    with pytest.raises(LimitMissing):
        rules.choose(Spec(argv=("x",)), lacking, POLICY)
    assert rules.choose(Spec(argv=("x",), trust=Trust.OWN), lacking, POLICY).tier is Tier.BUBBLEWRAP
    assert rules.choose(Spec(argv=("x",)), lacking, replace(POLICY, stranger_limits_required=0)).works
    assert rules.choose(Spec(argv=("x",)), lacking, rules.for_play(replace(POLICY, stranger_limits_required=1))).works


def test_what_a_result_says_of_limits_follows_the_run() -> None:
    applied = {"disk": "tmpfs", "network": "namespace"}
    assert "proxy" in rules.applied_limits(Spec(argv=("x",), egress=Egress(())), applied)["network"]
    assert "memory" in rules.missing_limits(applied)


# --- control groups of other machines -----------------------------------------------------------------


def test_version_two_is_used_where_it_is_delegated(tmp_path: Path) -> None:
    group = tmp_path / "user.slice"
    group.mkdir()
    (group / "cgroup.controllers").write_text("cpu memory pids io\n")
    (group / "cgroup.subtree_control").write_text("memory pids cpu\n")
    found = cgroups.discover("0::/user.slice\n", f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    assert found.version == 2
    made = cgroups.Group(found, "run_1")
    limits = rules.effective_limits(Limits(memory_bytes=5_000_000, cores_milli=500), POLICY)
    settings = {file: text for _, file, text in made._settings(limits, 9)}
    assert settings == {"pids.max": "9", "memory.max": "5000000", "memory.oom.group": "1", "cpu.max": "50000 100000"}
    assert made.folders == [group / "choir-run-run_1"]


def test_groups_that_cannot_be_had_are_explained(tmp_path: Path) -> None:
    none = cgroups.discover("0::/\n", "proc /proc proc rw 0 0\n")
    assert none.version == 0
    assert "cgroup" in none.why
    (tmp_path / "cgroup.controllers").write_text("hugetlb\n")
    hybrid = cgroups.discover("0::/\n", f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    assert hybrid.version == 0
    assert "controllers" in hybrid.why
