"""The rules that handle each row of the failure zoo, and the proof that their tests need them."""

from __future__ import annotations
