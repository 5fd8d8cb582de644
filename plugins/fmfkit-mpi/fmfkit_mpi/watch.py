"""An error, a stop or a loss of any rank ends the job on all of them, with a message that says which and why.

MPI alone does neither: a rank that raises leaves the others waiting for it, and so does one that is stopped or cut off.
So every rank talks to rank 0 over TCP, in a thread of its own, a few times a second; the kernels leave it time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BEAT = 0.5
"""Seconds between two signs of life."""
PATIENCE = 7.0
"""Seconds without one after which a rank is given up: a job must end within 10."""
PAUSE = 0.3
"""Seconds that a message is given to reach the launcher before the job ends."""
DONE = b"q"


def addresses() -> list[str]:
    """Return the addresses of this host, the loopback's last."""
    found: list[str] = []
    with contextlib.suppress(OSError):
        lines = Path("/proc/net/fib_trie").read_text().splitlines()
        found = [before.split()[-1] for before, line in itertools.pairwise(lines) if "host LOCAL" in line]
    with contextlib.suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    return sorted(dict.fromkeys([*found, "127.0.0.1"]), key=lambda address: address.startswith("127."))


class Watch:
    """Signs of life between rank 0 and all others."""

    def __init__(self, comm: Any) -> None:
        """Connect every rank to rank 0, and begin."""
        self.comm, self.rank, self._over = comm, comm.rank, threading.Event()
        self.host = socket.gethostname()
        self.hosts: list[str] = comm.allgather(self.host)
        self._peers: dict[int, socket.socket] = self._accept() if self.rank == 0 else self._connect()
        self._thread = threading.Thread(target=self._run, name="fmfkit-watch", daemon=True)
        self._thread.start()

    def _accept(self) -> dict[int, socket.socket]:
        token = os.urandom(16)
        with socket.create_server(("", 0), backlog=self.comm.size) as server:
            self.comm.bcast((addresses(), server.getsockname()[1], token))
            server.settimeout(60)
            peers: dict[int, socket.socket] = {}
            while len(peers) < self.comm.size - 1:
                peer, _ = server.accept()
                peer.settimeout(5)
                with contextlib.suppress(OSError):
                    said = peer.recv(20, socket.MSG_WAITALL)
                    if said[:16] == token:
                        peer.sendall(token)
                        peers[struct.unpack("<i", said[16:])[0]] = peer
        self.comm.barrier()
        return peers

    def _connect(self) -> dict[int, socket.socket]:
        where, port, token = self.comm.bcast(None)
        for address in where:
            with contextlib.suppress(OSError):
                peer = socket.create_connection((address, port), timeout=3)
                peer.sendall(token + struct.pack("<i", self.rank))
                if peer.recv(16, socket.MSG_WAITALL) == token:
                    self.comm.barrier()
                    return {0: peer}
        self.end(f"it cannot reach rank 0 on {self.hosts[0]} at {where}, port {port}: is there a firewall?")
        raise AssertionError

    def _run(self) -> None:
        heard = dict.fromkeys(self._peers, time.monotonic())
        last = due = time.monotonic()
        for peer in self._peers.values():
            peer.settimeout(0)
        while not self._over.is_set() and self._peers:
            readable, _, _ = select.select(list(self._peers.values()), [], [], max(0.0, due - time.monotonic()))
            now = time.monotonic()
            if now - last > PATIENCE:  # this process was stopped: what it missed says nothing of the others
                heard = dict.fromkeys(self._peers, now)
            last = now
            for rank, peer in list(self._peers.items()):
                if peer in readable and self._hear(rank, peer):
                    heard[rank] = now
            if now < due:
                continue
            due = now + BEAT
            for rank, peer in self._peers.items():
                with contextlib.suppress(OSError):
                    peer.send(b".")
                if now - heard[rank] > PATIENCE:
                    self._lost(rank, f"was not heard of for {PATIENCE:.0f} s: it is stopped, or cannot be reached")

    def _hear(self, rank: int, peer: socket.socket) -> bool:
        """Read what a peer has said; return whether it goes on."""
        try:
            said = peer.recv(4096)
        except BlockingIOError:
            return True
        except OSError as error:
            self._lost(rank, f"is gone ({error})")
            return False
        if DONE in said:
            del self._peers[rank]
            return False
        if not said:
            self._lost(rank, "has ended without a word: it was killed, or ran out of memory")
            return False
        return True

    def _lost(self, rank: int, how: str) -> None:
        if not self._over.is_set():
            self.end(f"rank {rank} on {self.hosts[rank]} {how}", mine=False)

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """End the job where something is raised within."""
        try:
            yield
        except BaseException as error:
            self.leave(error)
            raise

    def leave(self, error: BaseException | None) -> None:
        """Stop watching; end the job if there is an error."""
        if error is not None and not (isinstance(error, SystemExit) and not error.code):
            if self.rank:
                time.sleep(2 * PAUSE)  # what all ranks raise is told by rank 0 alone
            known = isinstance(error, ValueError | LookupError | TypeError | OSError | RuntimeError | SystemExit)
            trace = "" if known else "".join(traceback.format_exception(error))
            self.end(f"{trace}{type(error).__name__}: {error}")
        self.comm.barrier()  # nobody ends before all are done
        self._over.set()
        for peer in list(self._peers.values()):  # the thread takes away those that are done
            with contextlib.suppress(OSError):
                peer.settimeout(1)
                peer.sendall(DONE)
        self._thread.join(2 * BEAT)

    def end(self, why: str, *, mine: bool = True) -> None:
        """Say why, and end the job on all ranks: where MPI itself hangs, at least this one."""
        who = f"rank {self.rank} on {self.host}: " if mine else ""
        sys.stderr.write(f"fmfkit: the job ends: {who}{why}\n")
        sys.stderr.flush()
        time.sleep(PAUSE)
        threading.Thread(target=self.comm.Abort, args=(1,), daemon=True).start()
        time.sleep(1.0)
        os._exit(1)


__all__ = ["BEAT", "PATIENCE", "Watch", "addresses"]
