"""The evidence of a rollout request: read from rows, hashed, and compared again later.

A request stores everything it is based on, and the sha256 of it. Before a decision takes effect
the same parts are read again, over the same runs: any difference voids the request.
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

MAX_TEXT_LENGTH = 300
# Parts that are compared name by name.
_BY_NAME = ("key", "target", "options", "figures", "capabilities", "modes")
# Stored for the record; the conditions are evaluated again instead of compared.
_CONDITIONS = "conditions"
# Labels of the parts. A part that is compared by name is followed by a dot and the name.
PART_LABELS = {
    "evidence": gettext_lazy("The evidence itself"),
    "endpoint": gettext_lazy("The endpoint"),
    "key": gettext_lazy("The profile key"),
    "target": gettext_lazy("The endpoint"),
    "options": gettext_lazy("Request options"),
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
class EvidenceChange:
    """A part of the evidence that has changed since, such as "capabilities.parser"."""

    part: str
    before: str
    after: str

    @property
    def text(self) -> str:
        """The change as a sentence in the reader's language."""
        family, _dot, name = self.part.partition(".")
        what = str(PART_LABELS.get(family, family))
        if name:
            what = _("{what} ({name})").format(what=what, name=name)
        message = _("{what} changed: it was {before}, and is {after} now.")
        return message.format(what=what, before=self.before, after=self.after)

    def as_json(self) -> list[str]:
        return [self.part, self.before, self.after]


def read_gate_result(profile: Profile) -> GateResult:
    """The result of the current gates for the profile's next stage."""
    return gate_facts.read_gate_results([profile]).result_of(profile)


def read_stage_evidence(profile: Profile, result: GateResult) -> dict[str, Any]:
    """Everything that a request for the next stage is based on."""
    runs = gate_facts.finished_run_ids(profile)
    conditions = [condition.as_json() for condition in result.conditions]
    return {**_stage_parts(profile, runs), _CONDITIONS: conditions}


def read_unpin_evidence(switch: ModeSwitch) -> dict[str, Any]:
    """Everything that a request to release a pinned mode is based on."""
    return _unpin_parts(switch)


def digest(evidence: Mapping[str, Any]) -> bytes:
    """The sha256 of the evidence in its canonical JSON form."""
    return hashlib.sha256(canonical_json(evidence).encode()).digest()


def canonical_json(value: Any) -> str:
    """The same text for the same value, whatever the order of its names."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def find_evidence_changes(request: RolloutRequest) -> list[EvidenceChange]:
    """What has changed since the request: its evidence, or else conditions no longer met."""
    stored: dict[str, Any] = request.evidence
    changes = []
    if digest(stored) != bytes(request.digest):
        digest_then = bytes(request.digest).hex()
        changes.append(
            EvidenceChange("evidence", f"sha256 {digest_then}", f"sha256 {digest(stored).hex()}")
        )
    profile = Profile.objects.select_related("endpoint").get(pk=request.profile_id)
    if Endpoint.objects.filter(pk=profile.endpoint_id, removed_at__isnull=False).exists():
        return [*changes, EvidenceChange("endpoint", "kept", "removed")]
    if request.switch_id is not None:
        switch = ModeSwitch.objects.select_related("author", "profile").get(pk=request.switch_id)
        return [*changes, *_compare(stored, _unpin_parts(switch))]
    changes += _compare(stored, _stage_parts(profile, stored.get("runs", ())))
    return changes or _unmet_conditions(profile)


def _stage_parts(profile: Profile, runs: Sequence[int]) -> dict[str, Any]:
    version, gates = GateVersion.current()
    stage = next_stage(profile.stage)
    return {
        "key": {**_key(profile), "is_present": profile.ended_at is None},
        "suite_version": SUITE_VERSION,
        "runs": _finished_run_ids(profile, runs),
        "figures": {
            metric.value: _figure(figure)
            for metric, figure in gate_facts.read_figures(profile, runs).items()
        },
        "capabilities": {
            name: _capability_value(name, capability.get("value"))
            for name, capability in sorted(profile.capabilities.items())
        },
        "gates": {
            "version": version.pk if version else None,
            "asks": gates.by_stage[stage].as_json() if stage else None,
        },
        **_current_state(profile),
    }


def _capability_value(name: str, value: Any) -> Any:
    """The value as evidence. Of deviations, those that break clients, and not how often."""
    if name != "deviations" or not isinstance(value, list):
        return value
    return sorted(f"{each['code']} ({each['where']})" for each in value if each.get("breaks"))


def _unpin_parts(switch: ModeSwitch) -> dict[str, Any]:
    profile = switch.profile
    return {"key": _key(profile), "switch": _switch(switch), **_current_state(profile)}


def _current_state(profile: Profile) -> dict[str, Any]:
    """What applies to the profile and its endpoint now: target, modes, incidents and stages."""
    endpoint = profile.endpoint
    in_force = endpoint.profile_in_force
    profile_ids = {profile.pk, in_force.pk}
    switches = (
        ModeSwitch.objects.on()
        .filter(profile__in=profile_ids)
        .select_related("author")
        .order_by("id")
    )
    return {
        **_sent(endpoint),
        "modes": {
            "effective": policies.effective_modes(profile),
            "on": [_switch(switch) for switch in switches],
        },
        "incidents": gate_facts.open_incident_ids(profile),
        "stage": profile.stage,
        "in_force": {"epoch": in_force.epoch, "stage": in_force.stage},
    }


def _key(profile: Profile) -> dict[str, Any]:
    return {
        "provider": profile.provider,
        "model": profile.model,
        "endpoint": profile.endpoint_url,
        "chat_template_hash": profile.chat_template_hash,
        "epoch": profile.epoch,
    }


def _sent(endpoint: Endpoint) -> dict[str, Any]:
    """Everything that decides what is sent, as the endpoint has it now.

    An option is kept as JSON text: null is not absent, and true is not 1.
    """
    return {
        "target": {
            name: getattr(endpoint, name) for name in ("provider", "model", "base_url", "dialect")
        },
        "options": {name: canonical_json(value) for name, value in endpoint.options.items()},
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


def _finished_run_ids(profile: Profile, runs: Sequence[int]) -> list[int]:
    finished = Run.objects.filter(
        pk__in=runs, profile=profile, state=State.FINISHED, suite_version=SUITE_VERSION
    )
    return sorted(finished.values_list("pk", flat=True))


def _unmet_conditions(profile: Profile) -> list[EvidenceChange]:
    """Conditions that later runs or the passing of time have left unmet."""
    with translation.in_english():
        return [
            EvidenceChange(
                f"condition.{condition.key}", "met", f"{condition.state.value}: {condition.text}"
            )
            for condition in read_gate_result(profile).missing
        ]


def _compare(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[EvidenceChange]:
    changes: list[EvidenceChange] = []
    for part, value in now.items():
        before = stored.get(part)
        if before == value:
            continue
        if part in _BY_NAME and isinstance(before, Mapping):
            changes += _compare_by_name(part, before, value)
        else:
            changes.append(EvidenceChange(part, _text(before), _text(value)))
    return changes


def _compare_by_name(
    part: str, before: Mapping[str, Any], now: Mapping[str, Any]
) -> list[EvidenceChange]:
    return [
        EvidenceChange(f"{part}.{name}", _text(before.get(name)), _text(now.get(name)))
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def _text(value: Any) -> str:
    """A value as text: switches by their modes, other structures as JSON."""
    if isinstance(value, str):
        return _clip(value) or "empty"
    if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        return _clip(", ".join(str(each.get("mode", each)) for each in value))
    if value in (None, [], {}):
        return "none"
    return _clip(json.dumps(value, ensure_ascii=False, default=str))


def _clip(text: str) -> str:
    """The beginning of a long text, with a hash that tells it from others that begin alike."""
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    mark = f"… (sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]})"
    return text[: MAX_TEXT_LENGTH - len(mark)] + mark
