"""Stages of profiles: asking for the next one, deciding, and stepping back."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User

from dashboard.models import ApiToken, Endpoint, ModeSwitch, Profile, RolloutRequest
from health.gates import Standing


@dataclass(frozen=True, slots=True)
class Changed:
    """A part of what a request rests on that is another one now."""

    part: str
    before: str
    after: str

    @property
    def words(self) -> str:
        """What changed, as a sentence in the reader's language."""
        raise NotImplementedError


def standing(profile: Profile) -> Standing:
    """Where the profile stands before its next stage."""
    raise NotImplementedError


def ask(
    profile: Profile, *, by: User, reason: str, token: ApiToken | None = None
) -> RolloutRequest:
    """Ask for the next stage of a profile."""
    raise NotImplementedError


def ask_unpin(
    switch: ModeSwitch, *, by: User, reason: str, token: ApiToken | None = None
) -> RolloutRequest:
    """Ask that a pinned mode be let go of."""
    raise NotImplementedError


def approve(request: RolloutRequest, *, by: User, reason: str) -> RolloutRequest:
    """Let what was asked for happen, if all that it rests on still holds."""
    raise NotImplementedError


def reject(request: RolloutRequest, *, by: User, reason: str) -> RolloutRequest:
    """Say no; the stage stays as it is."""
    raise NotImplementedError


def withdraw(request: RolloutRequest, *, by: User, reason: str = "") -> RolloutRequest:
    """Take a request back: whoever asked, or anybody who may ask."""
    raise NotImplementedError


def step_back(profile: Profile, *, to: str, by: User, reason: str) -> None:
    """Let a profile do less, at once; one person is enough. Refuses what is not tighter."""
    raise NotImplementedError


def reject_profile(profile: Profile, *, by: User, reason: str) -> None:
    """Let a profile have no tools, and say that it is not wanted."""
    raise NotImplementedError


def void_changed(endpoint: Endpoint) -> int:
    """End the pending requests whose ground has changed; the endpoint is locked."""
    raise NotImplementedError


def expire() -> int:
    """End the requests that nobody decided on in time; returns how many."""
    raise NotImplementedError


def differences(request: RolloutRequest) -> list[Changed]:
    """What of the evidence of a request is another one now."""
    raise NotImplementedError
