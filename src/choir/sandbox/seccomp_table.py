"""The system calls that a sandbox refuses, by number, for x86_64 and aarch64.

Numbers never change once given, so this table only ever grows. A call that an architecture lacks is -1.
Source: the kernel's own headers (asm/unistd_64.h, asm-generic/unistd.h).
"""

from __future__ import annotations

NEWEST = 456  # futex_requeue, Linux 6.7: whatever is newer answers ENOSYS until someone has looked at it

# name: (x86_64, aarch64)
DENIED: dict[str, tuple[int, int]] = {
    "_sysctl": (156, -1),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, -1),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, -1),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, -1),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "query_module": (178, -1),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, -1),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, -1),
    "userfaultfd": (323, 282),
    "ustat": (136, -1),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}

# Answered as by a kernel without them, so that programs take their other way. A watch on the shared /usr shows which
# programs the host runs; instances, contexts and their number belong to the whole user or the whole machine.
ABSENT: dict[str, tuple[int, int]] = {
    "fanotify_mark": (301, 263),
    "inotify_add_watch": (254, 27),
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    "io_setup": (206, 0),
    "io_submit": (209, 2),
}

# Looked at by argument, not refused as a whole.
EXAMINED: dict[str, tuple[int, int]] = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "ioctl": (16, 29),
    "personality": (135, 92),
    "socket": (41, 198),
    "socketpair": (53, 199),
}

# Memory that no rlimit counts: refused only where no cgroup counts it either.
UNCOUNTED: dict[str, tuple[int, int]] = {
    "memfd_create": (319, 279),
    "mq_open": (240, 180),
    "shmget": (29, 194),
}

# What stays in the kernel after the last process is gone: refused only where it would be the host's own.
LASTING: dict[str, tuple[int, int]] = {
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "semget": (64, 190),
    "shmget": (29, 194),
}
