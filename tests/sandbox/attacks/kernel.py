"""Attacks on the kernel's own doors: devices, namespaces, keyrings, odd sockets and odd system calls."""

from __future__ import annotations

import platform

from choir.sandbox.model import Tier
from tests.sandbox.attacks.model import Attack, unconfined
from tests.sandbox.attacks.scene import Scene

_OWN_KERNEL = "gVisor's own kernel answers; the host's is not asked"
_X86 = platform.machine() == "x86_64"


def _answers_if_it_is_there(attack: Attack, scene: Scene) -> bool:
    """removexattrat came with Linux 6.13; before that there is nothing to prove with."""
    major, minor = (int(word) for word in platform.release().split(".")[:2])
    return unconfined(attack, scene) or (major, minor) < (6, 13)


KERNEL = (
    Attack(
        "devices",
        "open or make a device of the host",
        """
for path in ("/dev/mem", "/dev/kvm", "/dev/vda", "/dev/sda", "/dev/kmsg", "/dev/vsock"):
    try: os.close(os.open(path, os.O_RDWR)); escaped(path)
    except OSError: pass
try: os.mknod("disk", 0o60666, os.makedev(254, 0)); os.close(os.open("disk", os.O_RDONLY)); escaped("mknod")
except OSError: pass
""",
        needs_root=True,
    ),
    Attack(
        "terminal-by-unread-bits",
        "push input into a terminal by a request that differs only in bits which the kernel does not read",
        """
number = 16 if os.uname().machine == "x86_64" else 29
for request in (0x5412, 0x541C):
    for high in (1 << 32, 1 << 40):
        if call(number, ctypes.c_long(1), ctypes.c_ulong(high | request), b"x") != -errno.EPERM: escaped(hex(request))
""",
        proof_text="without a sandbox the kernel looks at the request",
        not_for={Tier.GVISOR: _OWN_KERNEL},
    ),
    Attack(
        "user-namespace",
        "make a user namespace to have capabilities in",
        "if libc.unshare(0x10000000) == 0: escaped('unshare')",
        not_for={Tier.GVISOR: _OWN_KERNEL},
    ),
    Attack(
        "namespaces-by-clone",
        "make namespaces by clone and clone3",
        """
pid = call(56 if os.uname().machine == "x86_64" else 220, ctypes.c_ulong(0x10000000 | 17), 0, 0, 0, 0)
if pid == 0: os._exit(0)
if pid > 0: escaped("clone")
""",
        not_for={Tier.GVISOR: _OWN_KERNEL},
    ),
    Attack(
        "mount",
        "mount a file system",
        """
libc.unshare(0x00020000)
if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0: escaped("tmpfs")
if libc.mount(b"none", b"/tmp", b"proc", 0, None) == 0: escaped("proc")
""",
        needs_root=True,
    ),
    Attack(
        "kernel-keyring",
        "put a key into the kernel's keyring",
        """
number = 248 if os.uname().machine == "x86_64" else 217
key = call(number, b"user", b"choir-attack", b"x", 1, -3)
if key > 0: escaped("key", key)
""",
    ),
    Attack(
        "bpf",
        "load a program into the kernel",
        """
number = 321 if os.uname().machine == "x86_64" else 280
attributes = (ctypes.c_uint32 * 18)(2, 4, 4, 1)
result = call(number, 0, attributes, 72)
if result >= 0: escaped("bpf map", result)
""",
        needs_root=True,
    ),
    Attack(
        "io-uring",
        "use io_uring, which no filter sees into",
        """
parameters = (ctypes.c_uint32 * 30)()
result = call(425, 4, parameters)
if result >= 0: escaped("io_uring", result)
""",
        not_for={Tier.GVISOR: _OWN_KERNEL},
    ),
    Attack(
        "watch-the-host",
        "see by inotify which programs of the shared /usr the host uses",
        """
watch = libc.inotify_init1(0o4000)
if watch >= 0 and libc.inotify_add_watch(watch, b"/usr/bin", 0x20) >= 0:
    for _ in range(30):
        time.sleep(0.1)
        try: seen = os.read(watch, 4096)
        except BlockingIOError: continue
        if b"cksum" in seen: escaped("the host opened cksum"); break
""",
    ),
    Attack(
        "watch-instances",
        "take the inotify instances of a user, of which there are 128",
        """
made = 0
while made < 60 and libc.inotify_init1(0) >= 0: made += 1
if made == 60: escaped(made, "instances")
""",
        not_for={Tier.GVISOR: _OWN_KERNEL},
    ),
    Attack(
        "aio-contexts",
        "take asynchronous contexts, of which the machine has 65 536 for all",
        """
number = 206 if os.uname().machine == "x86_64" else 0
context = ctypes.c_ulong(0)
if call(number, ctypes.c_uint(2000), ctypes.byref(context)) == 0: escaped("io_setup")
""",
        not_for={Tier.GVISOR: _OWN_KERNEL},
    ),
    Attack(
        "terminals",
        "take 100 pseudo-terminals, of which the machine has 3 072 for all sandboxes",
        """
made = 0
try:
    while made < 100: os.openpty(); made += 1
except OSError: pass
if made == 100: escaped(made, "terminals")
""",
        not_for={Tier.GVISOR: _OWN_KERNEL},
        excused=lambda machine, tier: "" if machine.is_root or tier is Tier.LOCAL else "only root can count terminals",
    ),
    Attack(
        "host-name-and-group",
        "learn the host's name and the path of the node's control group",
        """
import re
if os.uname().nodename == E["BAIT_HOST"]: escaped("the host's name")
paths = {line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup")}
if any(re.search("[A-Za-z]", path) for path in paths): escaped("a group's path")
""",
        excused=lambda machine, tier: (
            "an ordinary user without user namespaces has the host's"
            if tier is Tier.LOCAL and not (machine.is_root or machine.own_namespaces)
            else ""
        ),
    ),
    Attack(
        "held-rights",
        "hold rights that a set-uid program could use",
        """
facts = dict(line.split(":", 1) for line in open("/proc/self/status") if line.startswith("Cap"))
if any(int(value, 16) for value in facts.values()): escaped(*facts.items())
""",
        excused=lambda machine, tier: (
            "an ordinary user without user namespaces cannot give up what others could grant"
            if tier is Tier.LOCAL and not (machine.is_root or machine.own_namespaces)
            else ""
        ),
    ),
    Attack(
        "userfaultfd",
        "stop the kernel in the middle of a copy",
        """
number = 323 if os.uname().machine == "x86_64" else 282
result = call(number, 1)
if result >= 0: escaped("userfaultfd", result)
""",
    ),
    Attack(
        "perf",
        "watch the machine through performance counters",
        """
number = 298 if os.uname().machine == "x86_64" else 241
attributes = (ctypes.c_uint32 * 32)(1, 128, 0)
result = call(number, attributes, 0, -1, -1, 0)
if result >= 0: escaped("perf", result)
""",
        needs_root=True,
    ),
    Attack(
        "vsock",
        "talk to the machine below by AF_VSOCK, which no namespace isolates",
        "socket.socket(40, socket.SOCK_STREAM); escaped('vsock')",
    ),
    Attack(
        "odd-sockets",
        "open sockets of rarely tested families",
        """
for family in (38, 17, 4, 9, 21, 31):
    try: socket.socket(family, socket.SOCK_SEQPACKET if family == 38 else socket.SOCK_RAW); escaped(family)
    except OSError: pass
""",
        needs_root=True,
    ),
    Attack(
        "raw-sockets",
        "open raw sockets",
        """
for kind in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET6, socket.SOCK_RAW, 58)):
    try: socket.socket(*kind); escaped("raw")
    except OSError: pass
""",
        needs_root=True,
    ),
    Attack(
        "kernel-settings",
        "open the kernel's settings for writing",
        """
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory",
             "/sys/kernel/uevent_helper", "/sys/power/state", "/proc/sys/kernel/hostname"):
    try: os.close(os.open(path, os.O_WRONLY)); escaped(path)
    except OSError: pass
""",
        needs_root=True,
    ),
    Attack(
        "kernel-secrets",
        "read the kernel's memory, log and addresses",
        """
for path in ("/proc/kcore", "/dev/kmsg", "/proc/kpageflags"):
    try:
        fd = os.open(path, os.O_RDONLY)
        if os.read(fd, 16): escaped(path)
    except OSError: pass
if any(int(line.split()[0], 16) for line in open("/proc/kallsyms").read(4000).splitlines()): escaped("kallsyms")
""",
        needs_root=True,
    ),
    Attack(
        "control-groups",
        "leave the control group or raise its limits",
        """
for root, folders, files in os.walk("/sys/fs/cgroup"):
    for name in files:
        if name in ("cgroup.procs", "memory.max", "memory.limit_in_bytes", "pids.max"):
            try: os.close(os.open(f"{root}/{name}", os.O_WRONLY)); escaped(root, name)
            except OSError: pass
""",
        needs_root=True,
    ),
    Attack(
        "machine-name-and-clock",
        "set the machine's name and time",
        """
name = socket.gethostname().encode()
if libc.sethostname(name, len(name)) == 0: escaped("hostname")
""",
        needs_root=True,
    ),
    Attack(
        "foreign-system-calls",
        "make system calls by the 32-bit entry, past a filter for the 64-bit one",
        """
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
if result > 0: escaped("getpid by int 0x80:", result)
os._exit(0)
""",
        not_for={} if _X86 else dict.fromkeys(Tier, "this processor has no 32-bit entry of that kind"),
        proof_text="succeeds without a sandbox on a kernel with the 32-bit entry",
    ),
    Attack(
        "new-system-calls",
        "use a system call that is newer than any table",
        """
result = call(466, -100, b"/nonexistent", 0)
if result != -errno.ENOSYS and result != -errno.EPERM: escaped("answered", result)
""",
        not_for={
            Tier.CONTAINER: "OCI filters name calls; what they do not name is the kernel's own business",
        },
        proof=_answers_if_it_is_there,
        proof_text="succeeds without a sandbox on Linux 6.13 or newer",
    ),
    Attack(
        "file-handles",
        "open files by handle, past every mount",
        """
number = 303 if os.uname().machine == "x86_64" else 264
handle = (ctypes.c_uint8 * 136)(); handle[0] = 128
mount = ctypes.c_int()
result = call(number, -100, b"/usr", handle, ctypes.byref(mount), 0)
if result == 0: escaped("name_to_handle_at")
""",
    ),
    Attack(
        "personality",
        "switch off address randomisation",
        """
flag = 0x0040000
if libc.personality(flag) >= 0 and libc.personality(0xffffffff) == flag: escaped("no randomisation")
""",
        not_for={Tier.CONTAINER: "randomisation is the payload's own protection, not the host's"},
    ),
)
