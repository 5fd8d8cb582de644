"""An error, a stop or a loss of any rank ends the job on all of them, with a line that says which and why.

MPI alone does neither: a rank that raises leaves the others waiting for it, and so does one that is stopped or cut off.
So every rank talks to rank 0 over TCP, in a thread of its own, a few times a second; the kernels leave it time. What
ends the job is told to rank 0, which tells it to the user.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import socket
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
REPORT = 20.0
"""Seconds that ranks have to report to rank 0, once MPI has started."""
PAUSE = 0.3
"""Seconds that a message is given to reach the launcher before the job ends."""
TOKEN = 16
"""Bytes by which ranks know each other."""
DONE, ENDS, LINE = b"q", b"!", b"\n"
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


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
        """Begin; no rank waits here for another one longer than it has to report."""
        self.comm, self.rank, self._over = comm, comm.rank, threading.Event()
        self.host = socket.gethostname()
        self.kept = ""
        self._hosts: dict[int, str] = {}
        self._peers: dict[int, socket.socket] = {}
        self._said: dict[int, bytes] = {}
        self._told = threading.Lock()
        self._server: socket.socket | None = None
        self._token, self._sent = os.urandom(TOKEN), list[Any]()
        self._due = time.monotonic() + REPORT
        self._signals, self._before = self._listen()
        if self.rank == 0:
            self._server = socket.create_server(("", 0), backlog=comm.size)
            where = self.host, addresses(), self._server.getsockname()[1], self._token
            self._sent = [comm.isend(where, rank) for rank in range(1, comm.size)]
        else:
            self._peers[0] = self._connect()
        self._thread = threading.Thread(target=self._run, name="fmfkit-watch", daemon=True)
        self._thread.start()

    def _listen(self) -> tuple[int, dict[int, Any]]:
        """Let signals come to the thread: Python's own handlers wait until C is back."""
        if threading.current_thread() is not threading.main_thread():
            return -1, {}
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        self._wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        caught = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        return reading, {number: signal.signal(number, lambda *_: None) for number in caught}

    def _connect(self) -> socket.socket:
        """Return a connection to rank 0."""
        asked = self.comm.irecv(source=0)
        found, where = asked.test()
        while not found:
            if time.monotonic() > self._due:
                self.end(
                    f"rank 0 has not reported within {REPORT:.0f} s: it is stopped, or cannot be reached", mine=False
                )
            time.sleep(0.01)
            found, where = asked.test()
        self._hosts[0], places, port, token = where
        for address in places:
            with contextlib.suppress(OSError):
                peer = socket.create_connection((address, port), timeout=3)
                peer.sendall(token + json.dumps([self.rank, self.host]).encode() + LINE)
                if peer.recv(TOKEN, socket.MSG_WAITALL) == token:
                    return peer
        self.end(f"it cannot reach rank 0 on {self._hosts[0]} at {places}, port {port}: is there a firewall?")
        raise AssertionError

    def _accept(self, server: socket.socket) -> None:
        """Let one rank report."""
        with contextlib.suppress(OSError, ValueError):
            peer, _ = server.accept()
            peer.settimeout(3)
            said = peer.recv(TOKEN, socket.MSG_WAITALL)
            while said[:TOKEN] == self._token and not said.endswith(LINE):
                if not (more := peer.recv(1)):
                    return
                said += more
            if said[:TOKEN] == self._token:
                rank, host = json.loads(said[TOKEN:])
                peer.sendall(self._token)
                self._peers[rank], self._hosts[rank] = peer, host

    def _run(self) -> None:
        heard: dict[int, float] = {}
        last = due = time.monotonic()
        while not self._over.is_set() and (self._peers or self._server):
            listened: list[Any] = [*self._peers.values(), *([self._server] if self._server else [])]
            signals = [] if self._signals < 0 else [self._signals]
            readable, _, _ = select.select([*listened, *signals], [], [], max(0.0, due - time.monotonic()))
            now = time.monotonic()
            if self._signals in readable:
                self._signalled(os.read(self._signals, 1)[0])
            if self._server is not None:
                self._wait_for_all(readable, now)
            if now - last > PATIENCE:  # this process was stopped: what it missed says nothing of the others
                heard = dict.fromkeys(self._peers, now)
            last = now
            for rank, peer in list(self._peers.items()):
                heard.setdefault(rank, now)
                if peer in readable and self._hear(rank, peer):
                    heard[rank] = now
            if now >= due:
                due = now + BEAT
                self._beat(heard, now)

    def _wait_for_all(self, readable: list[Any], now: float) -> None:
        """Let ranks report, until all have."""
        assert self._server is not None
        if self._server in readable:
            self._accept(self._server)
        missing = [rank for rank in range(1, self.comm.size) if rank not in self._hosts]
        if not missing:
            self._server.close()
            self._server = None
        elif now > self._due:
            who = f"rank {missing[0]}" if len(missing) == 1 else f"ranks {', '.join(map(str, missing))}"
            self._ends(0, f"{who} did not report within {REPORT:.0f} s: stopped, or cannot be reached", mine=False)

    def _beat(self, heard: dict[int, float], now: float) -> None:
        for rank, peer in list(self._peers.items()):
            with contextlib.suppress(OSError):
                peer.settimeout(0)
                peer.send(b".")
            if now - heard[rank] > PATIENCE:
                self._lost(rank, f"was not heard of for {PATIENCE:.0f} s: it is stopped, or cannot be reached")

    def _hear(self, rank: int, peer: socket.socket) -> bool:
        """Read what a peer has said; return whether it goes on."""
        try:
            peer.settimeout(0)
            said = peer.recv(4096)
        except BlockingIOError:
            return True
        except OSError as error:
            self._lost(rank, f"is gone ({error})")
            return False
        self._said[rank] = self._said.get(rank, b"").lstrip(b".") + said
        if self._said[rank].lstrip(b".").startswith(ENDS):
            why, line, _ = self._said[rank].lstrip(b".")[1:].partition(LINE)
            if line:
                self._ends(rank, json.loads(why))
        elif DONE in said:
            del self._peers[rank]
            return False
        elif not said:
            self._lost(rank, "has ended without a word: it was killed, or ran out of memory")
            return False
        return True

    def _signalled(self, number: int) -> None:
        if number in SIGNALS and not self._over.is_set():
            self.end(f"it got the signal {signal.Signals(number).name}")

    def _lost(self, rank: int, how: str) -> None:
        if not self._over.is_set():
            if self.rank:
                time.sleep(min(self.rank - 1, 5) * PAUSE)  # of those that miss rank 0 one should tell it
            self._ends(rank, f"rank {rank} on {self._hosts[rank]} {how}", mine=False)

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
                time.sleep(PAUSE)  # what all ranks raise is told by rank 0 itself
            usual = ValueError, LookupError, TypeError, ArithmeticError, MemoryError, OSError, RuntimeError, SystemExit
            trace = "" if isinstance(error, usual) else "".join(traceback.format_exception(error))
            self.end(f"{trace}{type(error).__name__}: {error}")
        for sent in self._sent:
            sent.wait()
        self.comm.barrier()  # nobody ends before all are done
        self._over.set()
        for peer in list(self._peers.values()):  # the thread takes away those that are done
            with contextlib.suppress(OSError):
                peer.settimeout(1)
                peer.sendall(DONE)
        self._thread.join(2 * BEAT)
        if self._before:
            signal.set_wakeup_fd(self._wakeup)
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def end(self, why: str, *, mine: bool = True) -> None:
        """Say why, and end the job on all ranks; what ends another rank than 0 that one says."""
        if self.rank and mine and 0 in self._peers:
            with contextlib.suppress(OSError):
                peer = self._peers[0]
                peer.settimeout(1)
                peer.sendall(ENDS + json.dumps(why).encode() + LINE)
                time.sleep(2.0)
        self._ends(self.rank, why, mine=mine)

    def _ends(self, rank: int, why: str, *, mine: bool = True) -> None:
        """Say which rank ends the job and why, once, and end it: where MPI itself hangs, at least this process."""
        self._told.acquire()
        who = f"rank {rank} on {self._hosts.get(rank, self.host)}: " if mine else ""
        os.write(2, f"fmfkit: the job ends: {who}{why}{self.kept and f'; {self.kept}'}\n".encode())
        time.sleep(PAUSE)
        threading.Thread(target=self.comm.Abort, args=(1,), daemon=True).start()
        time.sleep(1.0)
        os._exit(1)


__all__ = ["BEAT", "PATIENCE", "REPORT", "Watch", "addresses"]
