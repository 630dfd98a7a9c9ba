"""What a request rests on: read from rows, hashed, and compared with what holds later.

A request keeps everything that it was made on, and the sha256 over it. The same is read again
before a decision lands, over the same runs: whatever differs voids the request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.models import Endpoint, GateVersion, ModeSwitch, Profile, RolloutRequest, Run
from dashboard.models.run import State
from dashboard.trust import gate_facts, policies
from health import translation
from health.detector import PROBE
from health.gates import GateResult, TrialCounts
from health.rate_bounds import reference_rate
from health.stages import next_stage
from probes.suite import SUITE_VERSION

LONGEST = 300
# Parts that are compared name by name.
_BY_NAME = ("key", "figures", "capabilities", "modes")
# What was judged then; now it is judged anew.
_JUDGED = "conditions"
# What each part is called; what a name has in it comes after a dot.
PARTS = {
    "evidence": gettext_lazy("The evidence itself"),
    "endpoint": gettext_lazy("The endpoint"),
    "key": gettext_lazy("The profile key"),
    "suite_version": gettext_lazy("The version of the suite"),
    "runs": gettext_lazy("The runs"),
    "figures": gettext_lazy("The figures"),
    "capabilities": gettext_lazy("A capability"),
    "gates": gettext_lazy("The gates"),
    "modes": gettext_lazy("The modes"),
    "incidents": gettext_lazy("The open incidents"),
    "stage": gettext_lazy("The stage"),
    "in_force": gettext_lazy("The profile in force"),
    "switch": gettext_lazy("The pinned mode"),
    "condition": gettext_lazy("A condition of the stage"),
}


@dataclass(frozen=True, slots=True)
class Changed:
    """A part of what a request rests on that is another one now, such as "capabilities.parser"."""

    part: str
    before: str
    after: str

    @property
    def words(self) -> str:
        """What changed, as a sentence in the reader's language."""
        family, _dot, name = self.part.partition(".")
        what = str(PARTS.get(family, family))
        if name:
            what = _("{what} ({name})").format(what=what, name=name)
        said = _("{what} changed: it was {before}, and is {after} now.")
        return said.format(what=what, before=self.before, after=self.after)

    def as_json(self) -> list[str]:
        return [self.part, self.before, self.after]


def standing(profile: Profile) -> GateResult:
    """Where the profile stands before its next stage, by the gates that hold."""
    return gate_facts.gate_results([profile]).result_of(profile)


def of_stage(profile: Profile, where: GateResult) -> dict[str, Any]:
    """All that a request for the next stage rests on."""
    runs = gate_facts.finished_runs(profile)
    conditions = [condition.as_json() for condition in where.conditions]
    return {**_stage_parts(profile, runs), _JUDGED: conditions}


def of_unpin(switch: ModeSwitch) -> dict[str, Any]:
    """All that a request to let go of a pinned mode rests on."""
    return _unpin_parts(switch)


def digest(evidence: Mapping[str, Any]) -> bytes:
    """The sha256 of the evidence in its one canonical form."""
    text = json.dumps(evidence, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()


def differences(request: RolloutRequest) -> list[Changed]:
    """What of the evidence of a request is another one now, and what no longer speaks for it."""
    then: dict[str, Any] = request.evidence
    found = []
    if digest(then) != bytes(request.digest):
        kept = bytes(request.digest).hex()
        found.append(Changed("evidence", f"sha256 {kept}", f"sha256 {digest(then).hex()}"))
    profile = Profile.objects.select_related("endpoint").get(pk=request.profile_id)
    if Endpoint.objects.filter(pk=profile.endpoint_id, removed_at__isnull=False).exists():
        return [*found, Changed("endpoint", "kept", "removed")]
    if request.switch_id is not None:
        switch = ModeSwitch.objects.select_related("author", "profile").get(pk=request.switch_id)
        return [*found, *_compare(then, _unpin_parts(switch))]
    found += _compare(then, _stage_parts(profile, then.get("runs", ())))
    return found or _no_longer_met(profile)


def _stage_parts(profile: Profile, runs: Sequence[int]) -> dict[str, Any]:
    version, held = GateVersion.current()
    wanted = next_stage(profile.stage)
    return {
        "key": {**_key(profile), "is_present": profile.ended_at is None},
        "suite_version": SUITE_VERSION,
        "runs": _still_finished(profile, runs),
        "figures": {
            metric.value: _figure(figure)
            for metric, figure in gate_facts.figures_of(profile, runs).items()
        },
        "capabilities": {
            name: found.get("value") for name, found in sorted(profile.capabilities.items())
        },
        "gates": {
            "version": version.pk if version else None,
            "asks": held.by_stage[wanted].as_json() if wanted else None,
        },
        **_held(profile),
    }


def _unpin_parts(switch: ModeSwitch) -> dict[str, Any]:
    profile = switch.profile
    return {"key": _key(profile), "switch": _switch(switch), **_held(profile)}


def _held(profile: Profile) -> dict[str, Any]:
    """What holds the profile back, or lets it go on."""
    held = profile.endpoint.profile_in_force
    mine = {profile.pk, held.pk}
    on = ModeSwitch.objects.on().filter(profile__in=mine).select_related("author").order_by("id")
    return {
        "modes": {
            "effective": policies.effective_of(profile),
            "on": [_switch(switch) for switch in on],
        },
        "incidents": gate_facts.open_incidents(profile),
        "stage": profile.stage,
        "in_force": {"epoch": held.epoch, "stage": held.stage},
    }


def _key(profile: Profile) -> dict[str, Any]:
    return {
        "provider": profile.provider,
        "model": profile.model,
        "endpoint": profile.endpoint_url,
        "chat_template_hash": profile.chat_template_hash,
        "epoch": profile.epoch,
    }


def _figure(figure: TrialCounts) -> dict[str, Any]:
    return {
        "trials": figure.trials,
        "failures": figure.failures,
        "p_ref": round(reference_rate(figure, PROBE), 6),
    }


def _switch(switch: ModeSwitch) -> dict[str, Any]:
    return {
        "id": switch.pk,
        "mode": switch.mode,
        "pinned": switch.pinned,
        "incident": switch.incident_id,
        "author": switch.author.get_username() if switch.author else None,
        "is_on": switch.off_at is None,
    }


def _still_finished(profile: Profile, runs: Sequence[int]) -> list[int]:
    kept = Run.objects.filter(
        pk__in=runs, profile=profile, state=State.FINISHED, suite_version=SUITE_VERSION
    )
    return sorted(kept.values_list("pk", flat=True))


def _no_longer_met(profile: Profile) -> list[Changed]:
    """What later runs and time have done to the conditions: what is not met voids."""
    with translation.in_english():
        return [
            Changed(f"condition.{each.key}", "met", f"{each.state.value}: {each.text}")
            for each in standing(profile).missing
        ]


def _compare(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[Changed]:
    found: list[Changed] = []
    for part, value in now.items():
        before = then.get(part)
        if before == value:
            continue
        if part in _BY_NAME and isinstance(before, Mapping):
            found += _by_name(part, before, value)
        else:
            found.append(Changed(part, _text(before), _text(value)))
    return found


def _by_name(part: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Changed]:
    return [
        Changed(f"{part}.{name}", _text(before.get(name)), _text(now.get(name)))
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def _text(value: Any) -> str:
    """A value for people to read: rows of one thing with their names, the rest as it is."""
    if isinstance(value, str):
        return value[:LONGEST] or "empty"
    if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        return ", ".join(str(each.get("mode", each)) for each in value)[:LONGEST]
    if value in (None, [], {}):
        return "none"
    return json.dumps(value, ensure_ascii=False, default=str)[:LONGEST]
