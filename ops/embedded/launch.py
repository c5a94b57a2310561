"""Turn this process into a server: `python -I -S launch.py SPEC COMMAND…`, standard library only.

Preparing a child between fork and exec (`preexec_fn`) can deadlock beside threads, so the supervisor starts this script
instead: it takes the server's lock, removes what a killed predecessor left, changes identity, ties its life to the
supervisor's and executes the command. The process id stays, so the server is a direct child of the supervisor.
"""

import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

LOCK_WAIT_S = 60.0  # a predecessor may have a checkpoint to write
KILL_AFTER_S = 10.0
ORPHANED, REFUSED, BUSY = 95, 97, 98
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1


def leave(code: int, message: str) -> NoReturn:
    """End with a line in the server's log."""
    sys.stderr.write(f"launch: {message}\n")
    sys.stderr.flush()
    os._exit(code)


def hold(path: str, stale: list[str]) -> None:
    """Take the server's lock, keep it across exec, and remove what a killed predecessor left.

    Everything the server forks inherits the lock, so it is free only when the last of its processes is gone: a second
    server can never open the same files, whatever process ids say. Our id in the lock file tells the supervisor that
    sockets and notes are ours from here on.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                pid = os.read(fd, 32).decode().strip()
                leave(BUSY, f"the previous server (pid {pid}) still runs on these files; end it and start again")
            time.sleep(0.02)
    for name in stale:
        Path(name).unlink(missing_ok=True)
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    os.set_inheritable(fd, True)  # noqa: FBT003 - the signature of the standard library


def become(identity: dict[str, Any]) -> None:
    """Change to the user that the server runs as."""
    uid, gid = identity["uid"], identity["gid"]
    if identity["kind"] == "namespace":
        outer_uid, outer_gid = os.geteuid(), os.getegid()
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
            leave(REFUSED, f"no user namespace: {os.strerror(ctypes.get_errno())}")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1")
    elif identity["kind"] == "account":
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def follow(spec: dict[str, Any]) -> None:
    """Ask the kernel for a signal when the supervisor dies, however it dies (Linux)."""
    if spec["pipe"] is None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, spec["orphan_signal"], 0, 0, 0)
    if os.getppid() != spec["parent"]:  # it died before we asked
        os._exit(ORPHANED)


def watch(pipe: int, orphan_signal: int) -> None:
    """Leave a watcher behind that stops the server when the supervisor's end of the pipe closes.

    For systems without PR_SET_PDEATHSIG (macOS). The watcher is forked twice so that it is no child of the server.
    """
    server = os.getpid()
    if child := os.fork():
        os.waitpid(child, 0)
        os.close(pipe)
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    while not select.select([pipe], [], [], 1.0)[0]:
        if not alive(server):
            os._exit(0)
    end(server, orphan_signal)
    os._exit(0)


def end(pid: int, first_signal: int) -> None:
    """Stop a process that is not our child: politely, then not."""
    deadline = time.monotonic() + KILL_AFTER_S
    if alive(pid):
        os.kill(pid, first_signal)
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    if alive(pid):
        os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    """Say whether the process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Prepare this process, then become the command."""
    spec = json.loads(sys.argv[1])
    command = sys.argv[2:]
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold keys and text in clear
    if spec["pipe"] is not None:
        watch(spec["pipe"], spec["orphan_signal"])
    follow(spec)
    if spec["lock"]:
        hold(spec["lock"], spec["stale"])
    try:
        become(spec["identity"])
    except OSError as error:
        leave(REFUSED, f"cannot change identity: {error.strerror}")
    follow(spec)  # a change of identity clears the request
    try:
        os.execv(command[0], command)  # noqa: S606 - the supervisor's own list, no shell
    except OSError as error:
        leave(REFUSED, f"cannot run {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
