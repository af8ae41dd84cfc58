"""Checks the address of a model server, and reads the key for it from the environment.

An address comes from the project's files, which travel. So it holds no credentials, and a key is sent to it only over
TLS, or to this machine. There is no switch to allow it otherwise: `https://`, or a tunnel that ends at localhost, costs
a minute, and a key that was read on the way is spent by others.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from autoscirub.errors import ConfigError

NO_KEY = "no-key"
"""Sent where no key is configured: the client library insists on one, and local servers ignore it."""
_SECRET_LENGTH = 8
"""Below it, it is a word such as `ollama` or `test`: no secret, and replacing it would change quotations."""
_BEGINNING = 6
"""Characters of the key's beginning that say something of it."""


@dataclass(frozen=True)
class ServerAddress:
    """`judge.base_url` and `judge.key_env`. Raises ConfigError where they cannot be used together."""

    base_url: str
    key_env: str | None

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.base_url)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number, half of an IPv6 address
            usable = False
        if not usable or not self.base_url.isprintable() or " " in self.base_url:
            raise ConfigError(
                f"judge.base_url: {self.base_url[:200]!r} is no address of a server; "
                "expected one such as http://localhost:8000/v1"
            )
        if "@" in parts.netloc or parts.query or parts.fragment:
            # Not quoted: what stands there may be a password or a key.
            raise ConfigError(
                "judge.base_url: holds a user name, a password, or something after ? or #; it is recorded with every "
                "verdict, so a key belongs in an environment variable, which judge.key_env names"
            )
        if self.key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.key_env):
            raise ConfigError(
                "judge.key_env: expected the name of an environment variable, never a key itself"
            )
        if self.key_env is not None and not self.is_tls and not self.is_local:
            raise ConfigError(
                f"judge.base_url: the key in {self.key_env} would travel in the clear to {parts.hostname}; use an "
                "https:// address, or a tunnel that ends at localhost, or leave judge.key_env out"
            )

    @property
    def is_local(self) -> bool:
        """Whether it is this machine, which nothing on the way can read and no proxy needs to reach."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def is_tls(self) -> bool:
        """Whether what is sent can be read by the server alone."""
        return urlsplit(self.base_url).scheme == "https"

    def key(self) -> str:
        """The key, or what is sent in place of one. Raises ConfigError where the variable is unset, or holds no key."""
        if self.key_env is None:
            return NO_KEY
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise ConfigError(
                f"judge.key_env: the environment variable {self.key_env} is not set, or empty; it must hold the key"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigError(
                f"judge.key_env: the environment variable {self.key_env} holds what cannot be a key: "
                "expected one word of printable ASCII"
            )
        return key


@dataclass(frozen=True)
class KeyRedaction:
    """Replaces the key by its variable's name: whatever a server sends back may be recorded, and travels.

    Before a text is shortened: of a key that is cut in half, the other half would stay.
    """

    address: ServerAddress
    key: str

    def __call__(self, text: str) -> str:
        if self.address.key_env is None or len(self.key) < _SECRET_LENGTH:
            return text
        name = f"[{self.address.key_env}]"
        quoted = json.dumps(self.key)[1:-1]
        for form in {self.key, quoted, quoted.replace("/", "\\/")}:  # as JSON may spell it
            text = text.replace(form, name)
        for length in range(len(self.key) - 1, _BEGINNING - 1, -1):
            if text.endswith(self.key[:length]):  # an answer may be cut off in the middle of it
                return text[:-length] + name
        return text
