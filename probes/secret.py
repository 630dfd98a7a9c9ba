from __future__ import annotations

import hmac
from typing import NoReturn, SupportsIndex

from typing_extensions import override

from probes.errors import TargetError

_MASK = "***"
_HINT_FROM_LENGTH = 12


class Secret:
    """A credential that only `reveal()` shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        # An empty secret would match everywhere when evidence is redacted.
        if not value:
            raise TargetError("The API key is empty.")
        self._value = value

    def reveal(self) -> str:
        """The credential itself, for the one header that it belongs to."""
        return self._value

    @property
    def hint(self) -> str:
        """The last four characters, or "" if they would reveal too much."""
        return self._value[-4:] if len(self._value) >= _HINT_FROM_LENGTH else ""

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_bytes(self._value), _bytes(other._value))

    # A hash could be looked up in a table, so secrets only support equality.
    __hash__ = None  # type: ignore[assignment]

    @override
    def __repr__(self) -> str:
        return f"Secret({_MASK})"

    @override
    def __str__(self) -> str:
        return _MASK

    @override
    def __format__(self, spec: str) -> str:
        return format(_MASK, spec)

    @override
    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("A Secret is never pickled or copied.")


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
