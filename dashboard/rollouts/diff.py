"""Two sides of a rollout, line by line: what is in force beside what would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from dashboard.core import labels
from dashboard.models import Profile
from dashboard.policy import text as policy_words
from dashboard.rollouts import text as stage_words
from dashboard.trust.text import format_day
from health.stages import is_tighter

_SHOWN_HASH = 12


@dataclass(frozen=True, slots=True)
class Line:
    """One thing on both sides; empty is: there is none."""

    name: str
    before: str
    after: str
    # Names that are the same in every language.
    is_code: bool = False

    @property
    def differs(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Two:
    """Two profiles of one endpoint."""

    left: str
    right: str
    lines: Sequence[Line]


def beside(in_force: Profile, waiting: Profile, policy: Mapping[str, Any]) -> Two:
    """The profile in force beside the one that waits; the policy is what callers get now."""
    lines = [
        _stages(in_force.stage, waiting.stage),
        Line(_("Callers get"), tools(policy), _("nothing by it yet")),
        *keys(in_force, waiting),
        Line(_("Since"), format_day(in_force.created_at), format_day(waiting.created_at)),
    ]
    return Two(title(in_force), title(waiting), [each for each in lines if each.before])


def title(profile: Profile) -> str:
    return _("Profile {epoch}").format(epoch=profile.epoch)


def keys(before: Profile, after: Profile) -> list[Line]:
    """What the two were measured under; what is the same is left out."""
    found = [
        Line(_("Provider"), before.provider, after.provider, is_code=True),
        Line(_("Model"), before.model, after.model, is_code=True),
        Line(_("Address"), before.endpoint_url, after.endpoint_url, is_code=True),
        Line(
            _("Chat template"),
            before.chat_template_hash[:_SHOWN_HASH] or _("not known"),
            after.chat_template_hash[:_SHOWN_HASH] or _("not known"),
            is_code=True,
        ),
    ]
    return [line for line in found if line.differs]


def policies(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Line]:
    """What a caller gets before and after, where it differs."""
    old, new = dict(policy_words.describe_policy(before)), dict(policy_words.describe_policy(after))
    names = dict.fromkeys([*new, *old])
    found = [Line(name, old.get(name, ""), new.get(name, "")) for name in names]
    return [line for line in found if line.differs]


def modes(before: Sequence[str], after: Sequence[str]) -> Line:
    nothing = _("none")
    told = (", ".join(before) or nothing, ", ".join(after) or nothing)
    return Line(_("Modes on"), *told, is_code=True)


def capabilities(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[Line], int]:
    """The capabilities that differ, and how many do not. Values by name."""
    named = [name for name in labels.CAPABILITY_NAMES if name in before or name in after]
    found = [
        Line(
            labels.capability_name(name),
            _meaning(name, before.get(name)),
            _meaning(name, after.get(name)),
        )
        for name in named
    ]
    differing = [line for line in found if line.differs]
    return differing, len(found) - len(differing)


def losses(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What callers have now and would not have after: a promotion can take something away."""
    old, new = _allowed(before), _allowed(after)
    if not old - new:
        return []
    said = _("Approving takes something away. Callers have now: {now}. After it: {after}.")
    return [said.format(now=tools(before), after=tools(after))]


def lowered(before: str, after: str) -> list[str]:
    """Where the new profile would begin below the one in force."""
    if not is_tighter(after, before):
        return []
    told = {"before": stage_words.name_of(before), "after": stage_words.name_of(after)}
    return [_("Approving lowers the stage, from {before} to {after}.").format(**told)]


def tools(body: Mapping[str, Any]) -> str:
    """Which tools a policy gives callers, in a few words."""
    allowed = _allowed(body)
    if not allowed:
        return pgettext("what callers get", "no tools")
    if allowed == {"read"}:
        return _("tools that read, and no others")
    if allowed == {"read", "write"}:
        return _("tools that read or write")
    return _("every tool")


def _stages(before: str, after: str) -> Line:
    return Line(_("Stage"), stage_words.name_of(before), stage_words.name_of(after))


def _allowed(body: Mapping[str, Any]) -> set[str]:
    return set(body.get("risk", {}).get("allowed") or ())


def _meaning(name: str, value: object) -> str:
    if value in (None, "unknown"):
        return _("unknown")
    return labels.capability_meaning(name, value)
