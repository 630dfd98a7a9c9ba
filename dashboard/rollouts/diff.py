"""Diff of two profiles or two policies, line by line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from dashboard.core import labels
from dashboard.core.safe_text import visible
from dashboard.models import Profile
from dashboard.policy import text as policy_text
from dashboard.rollouts.text import stage_name
from dashboard.trust.text import format_day
from health.stages import is_tighter

_HASH_LENGTH = 12


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A value before and after. Empty if there is none."""

    name: str
    before: str
    after: str
    # The values are identifiers and are not translated.
    is_code: bool = False

    @property
    def differs(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class ProfileDiff:
    """Two profiles of one endpoint."""

    left: str
    right: str
    lines: Sequence[DiffLine]


def diff_profiles(in_force: Profile, candidate: Profile, policy: Mapping[str, Any]) -> ProfileDiff:
    """The profile in force and the candidate. `policy` is the current policy of callers."""
    lines = [
        _stage_line(in_force.stage, candidate.stage),
        DiffLine(_("Callers get"), describe_tools(policy), _("nothing by it yet")),
        *diff_keys(in_force, candidate),
        DiffLine(_("Since"), format_day(in_force.created_at), format_day(candidate.created_at)),
    ]
    return ProfileDiff(
        profile_title(in_force), profile_title(candidate), [each for each in lines if each.before]
    )


def profile_title(profile: Profile) -> str:
    return _("Profile {epoch}").format(epoch=profile.epoch)


def diff_keys(before: Profile, after: Profile) -> list[DiffLine]:
    """The parts of the profile key, the dialect and the request options that differ."""
    lines = [
        DiffLine(_("Provider"), before.provider, after.provider, is_code=True),
        DiffLine(_("Model"), before.model, after.model, is_code=True),
        DiffLine(_("Address"), before.endpoint_url, after.endpoint_url, is_code=True),
        DiffLine(_("Dialect"), _dialect_name(before), _dialect_name(after), is_code=True),
        *_diff_options(before.options, after.options),
        DiffLine(
            _("Chat template"),
            before.chat_template_hash[:_HASH_LENGTH] or _("not known"),
            after.chat_template_hash[:_HASH_LENGTH] or _("not known"),
            is_code=True,
        ),
    ]
    return [line for line in lines if line.differs]


def _dialect_name(profile: Profile) -> str:
    return profile.dialect or _("the provider's own")


def _diff_options(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[DiffLine]:
    """One line per option. Empty where it is not set."""
    old, new = _option_texts(before), _option_texts(after)
    label = _("Request option {name}")
    return [
        DiffLine(label.format(name=visible(name)), old.get(name, ""), new.get(name, ""), True)
        for name in sorted({*old, *new})
    ]


def _option_texts(options: Mapping[str, Any]) -> dict[str, str]:
    return {name: format_json(value) for name, value in options.items()}


def format_json(value: Any) -> str:
    """Readable, and the same text for the same value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def diff_policies(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[DiffLine]:
    """The parts of the policy that differ."""
    old, new = dict(policy_text.describe_policy(before)), dict(policy_text.describe_policy(after))
    names = dict.fromkeys([*new, *old])
    lines = [DiffLine(name, old.get(name, ""), new.get(name, "")) for name in names]
    return [line for line in lines if line.differs]


def diff_modes(before: Sequence[str], after: Sequence[str]) -> DiffLine:
    none = _("none")
    before_text, after_text = ", ".join(before) or none, ", ".join(after) or none
    return DiffLine(_("Modes on"), before_text, after_text, is_code=True)


def diff_capabilities(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[list[DiffLine], int]:
    """The capabilities that differ, and the number of those that do not. Takes values by name."""
    names = [name for name in labels.CAPABILITY_NAMES if name in before or name in after]
    lines = [
        DiffLine(
            labels.capability_name(name),
            _capability_label(name, before.get(name)),
            _capability_label(name, after.get(name)),
        )
        for name in names
    ]
    differing = [line for line in lines if line.differs]
    return differing, len(lines) - len(differing)


def describe_losses(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Warn of tools that callers have now and would lose."""
    if not _allowed_risks(before) - _allowed_risks(after):
        return []
    text = _("Approving takes something away. Callers have now: {now}. After it: {after}.")
    return [text.format(now=describe_tools(before), after=describe_tools(after))]


def describe_lower_stage(before: str, after: str) -> list[str]:
    """Warn if the stage of the new profile would be below that of the one in force."""
    if not is_tighter(after, before):
        return []
    names = {"before": stage_name(before), "after": stage_name(after)}
    return [_("Approving lowers the stage, from {before} to {after}.").format(**names)]


def describe_tools(policy: Mapping[str, Any]) -> str:
    """Which tools a policy allows callers, in a few words."""
    allowed = _allowed_risks(policy)
    if not allowed:
        return pgettext("what callers get", "no tools")
    if allowed == {"read"}:
        return _("tools that read, and no others")
    if allowed == {"read", "write"}:
        return _("tools that read or write")
    return _("every tool")


def _stage_line(before: str, after: str) -> DiffLine:
    return DiffLine(_("Stage"), stage_name(before), stage_name(after))


def _allowed_risks(policy: Mapping[str, Any]) -> set[str]:
    return set(policy.get("risk", {}).get("allowed") or ())


def _capability_label(name: str, value: object) -> str:
    if value in (None, "unknown"):
        return _("unknown")
    return labels.capability_meaning(name, value)
