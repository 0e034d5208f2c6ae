"""Sandboxes: whatever runs a stranger's code runs here.

    with Sandboxes(state, policy.of(SandboxPolicy)) as sandboxes:
        result = sandboxes.run(Spec(argv=("python3", "-c", "print(1)")))

One interface, several strengths. The tier, the limits that really applied and the measured use are in the
result; a tier that the machine lacks is an error and never a silent step down. Many at once: `Pool`. The one
way out: `Egress`. Strangers' archives and repositories: `archives`, `repositories`.
"""
