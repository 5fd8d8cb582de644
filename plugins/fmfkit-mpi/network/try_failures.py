"""Two hosts made of one: MPI over TCP between two network namespaces, and all that can go wrong there.

It needs root, `ip` (iproute2) and an MPICH: ``python network/try_failures.py`` in the folder of fmfkit-mpi. Each
failure must end the job within 10 seconds with a line that says which rank, where and why, and the checkpoint must go
on bit for bit. Of a rank that was killed the launcher tells, and most often the rank that misses it.

The two hosts have the memory of one machine, through which MPICH would send if it might: `UCX_TLS` forbids it, and what
went over the cable is compared with what the ranks say they sent.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "tests" / "programs"
HOSTS = {"fmfkit-a": "10.77.0.1", "fmfkit-b": "10.77.0.2"}
CABLE = "fmfkit0"
LIMIT = 10.0
SAYS = {
    "cable": "was not heard of for|is gone",
    "kill": "RUNNING AT 10.77.0.2|rank 1 on .* has ended without a word",
    "stop": "rank 1 on .* was not heard of for",
    "raise": "rank 1 on .*ValueError: something is wrong",
    "full": "rank 1 on .*No space left on device",
}


def ip(*arguments, check=True):
    """Configure the network."""
    subprocess.run(["ip", *arguments], check=check, capture_output=not check)


def connect():
    """Make two namespaces with a cable between them."""
    disconnect()
    for name in HOSTS:
        ip("netns", "add", name)
    ip("link", "add", CABLE, "netns", "fmfkit-a", "type", "veth", "peer", CABLE, "netns", "fmfkit-b")
    for name, address in HOSTS.items():
        ip("-n", name, "addr", "add", f"{address}/24", "dev", CABLE)
        ip("-n", name, "link", "set", CABLE, "up")
        ip("-n", name, "link", "set", "lo", "up")
    while any(cable(name)["operstate"] != "UP" for name in HOSTS):
        time.sleep(0.05)


def cable(name):
    """Return what is known of one of its ends."""
    shown = subprocess.run(["ip", "-n", name, "-j", "-s", "link", "show", CABLE], capture_output=True, check=True)
    return json.loads(shown.stdout)[0]


def disconnect():
    """Take them away."""
    for name in HOSTS:
        ip("netns", "del", name, check=False)


def start(folder, how, full):
    """Start a job on both hosts; ``full`` is a small disk that rank 1 writes to."""
    launcher = [
        Path(sys.executable).with_name("mpiexec"),
        "-launcher",
        "ssh",
        "-launcher-exec",
        HERE / "into_namespace",
    ]
    hosts = ["-hosts", ",".join(HOSTS.values()), "-ppn", "1", "-n", "2"]
    program = [sys.executable, HERE / "two_hosts.py", folder, how, full]
    command = ["ip", "netns", "exec", "fmfkit-a", *launcher, *hosts, *program]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "UCX_TLS": "tcp,self"}
    environment["UCX_NET_DEVICES"] = CABLE
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([str(part) for part in command], env=environment, **said)


def trained(folder, full):
    """Let a job train without trouble; return what it said, and the bytes of sums and of the cable."""
    connect()
    said = start(folder, "nothing", full).communicate()[0]
    found = re.search(r"sent: (\d+)", said)
    return said, int(found[1]) if found else 0, cable("fmfkit-a")["stats64"]["tx"]["bytes"]


def outcome(folder):
    """Return what a job that was not stopped has made; None where there is nothing."""
    path = folder / "outcome.json"
    return json.loads(path.read_text()) if path.exists() else None


def fails(folder, how, full):
    """Let a job fail in some way; return how long it lived on, on any host, and what was said."""
    job, said = start(folder, how, full), []
    for line in job.stdout:
        said.append(line)
        if line.startswith("now: "):
            began = float(line.split()[1])
            if how == "cable":
                ip("-n", "fmfkit-b", "link", "set", CABLE, "down")
                began = time.time()
            break
    said.append(job.communicate()[0])
    while time.time() - began < 2 * LIMIT and any(alive(name) for name in HOSTS):
        time.sleep(0.05)
    return time.time() - began, "".join(said), job.returncode


def alive(name):
    """Return whether anything of a job runs on a host."""
    return bool(subprocess.run(["ip", "netns", "pids", name], capture_output=True, check=True).stdout.strip())


def tried(scratch, how, full, whole):
    """Try a failure, and going on after it; return whether all was well."""
    folder = scratch / how
    connect()
    seconds, said, code = fails(folder, how, full)
    connect()
    (full / "something else").unlink(missing_ok=True)
    again = start(folder, "nothing", full).communicate()[0]
    found, same = re.search(f".*({SAYS[how]}).*", said), outcome(folder) == whole
    good = seconds < LIMIT and found is not None and code != 0 and same
    line = said if found is None else found.group(0).strip()
    print(f"{'ok' if good else 'WRONG'}  {how}: over after {seconds:.1f} s; goes on alike: {same}; {line}")
    if not same:
        print(again)
    return good


def main():
    """Try to train, and all failures; return how many were not as they should be."""
    with tempfile.TemporaryDirectory() as made:
        scratch, full = Path(made), Path(made, "small disk")
        full.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(full)], check=True)
        try:
            said, sent, carried = trained(scratch / "whole", full)
            whole = outcome(scratch / "whole")
            good = whole is not None and carried >= sent > 0
            print(
                f"{'ok' if good else 'WRONG'}  it trains over TCP: {sent:,} bytes of sums, {carried:,} over the cable"
            )
            if whole is None:
                print(said)
            return (not good) + sum(not tried(scratch, how, full, whole) for how in SAYS)
        finally:
            disconnect()
            subprocess.run(["umount", str(full)], check=True)


if __name__ == "__main__":
    sys.exit(main())
