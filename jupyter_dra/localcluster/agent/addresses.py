"""Pod addresses on the loopback interface: one per pod where the system has all of 127.0.0.0/8."""

from __future__ import annotations

import ipaddress
import secrets
import socket

_NETWORK = ipaddress.ip_network("127.64.0.0/10")


class AddressPool:
    """Hands out pod addresses; a freed one is not given again before the whole range went round.

    The first address is random, so that two clusters on one machine rarely meet.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._shared = None if _can_bind(str(_NETWORK[1])) else "127.0.0.1"
        self._next = secrets.randbelow(_NETWORK.num_addresses)

    def take(self) -> str:
        if self._shared:
            return self._shared
        while True:
            self._next = (self._next + 1) % _NETWORK.num_addresses
            address = _NETWORK[self._next]
            text = str(address)
            if address.packed[3] not in (0, 255) and text not in self._used:
                self._used.add(text)
                return text

    def adopt(self, address: str) -> None:
        """Mark an address that a pod already has."""
        self._used.add(address)

    def give_back(self, address: str) -> None:
        self._used.discard(address)


def _can_bind(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
