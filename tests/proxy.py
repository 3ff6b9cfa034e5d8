"""An engine behind a socket of our own, which dies in the middle of an answer of our choice."""

import re
import socket
import threading
from contextlib import suppress

PIECE = 1 << 16


class Proxy:
    """Pass every connection on to the engine at `address`, a Unix socket.

    With `die_at(pattern, after)` the engine is gone for good once an answer to a request whose first line matches has
    given `after` bytes: that connection ends, as do all others, and no new one is accepted. `live()` ends the spell.
    """

    def __init__(self, address, path):
        self.address, self.path = str(address).removeprefix("unix://"), str(path)
        self.pattern, self.after, self.dead = None, 0, False
        self.pairs, self.threads = [], []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen(64)

    @property
    def url(self):
        """What DOCKER_HOST takes."""
        return f"unix://{self.path}"

    def __enter__(self):
        self._go(self._accept)
        return self

    def _go(self, target):
        self.threads.append(threading.Thread(target=target, daemon=True))
        self.threads[-1].start()

    def __exit__(self, *_):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.die()
        for thread in self.threads:
            thread.join()

    def die_at(self, pattern, after=0):
        self.pattern, self.after = re.compile(pattern.encode()), after

    def live(self):
        self.pattern, self.dead = None, False

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self.server.accept()
                if self.dead:
                    client.close()
                    continue
                engine = socket.socket(socket.AF_UNIX)
                engine.connect(self.address)
                self.pairs.append(Pair(self, client, engine))
                self._go(self.pairs[-1].run)

    def die(self):
        """Be gone, for everybody."""
        self.dead = True
        for pair in self.pairs:
            pair.hang_up()


class Pair:
    """One connection, and its other half to the engine."""

    def __init__(self, proxy, client, engine):
        self.proxy, self.client, self.engine = proxy, client, engine
        self.doomed, self.given = False, 0

    def run(self):
        """Carry both ways until either end hangs up."""
        with self.client, self.engine:
            asks = threading.Thread(target=self._asks, daemon=True)
            asks.start()
            self._answers()
            asks.join()

    def hang_up(self):
        for one in (self.client, self.engine):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _asks(self):
        """Carry what the client says; note when it asks what the engine dies of."""
        with suppress(OSError):
            while data := self.client.recv(PIECE):
                if self.proxy.pattern and self.proxy.pattern.match(data.split(b"\r\n", 1)[0]):
                    self.doomed, self.given = True, 0
                    if not self.proxy.after:
                        self.proxy.die()
                        return
                self.engine.sendall(data)
            self.engine.shutdown(socket.SHUT_WR)

    def _answers(self):
        """Carry what the engine says, as long as it lives."""
        with suppress(OSError):
            while data := self.engine.recv(PIECE):
                self.client.sendall(data)
                self.given += len(data)
                if self.doomed and self.given >= self.proxy.after:
                    self.proxy.die()
        self.hang_up()
