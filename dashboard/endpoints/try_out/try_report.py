"""The report of a try: a verdict, the facts, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard.endpoints.try_out.advice import suggest_base_url, try_advice
from health.status import Status
from probes.adapters import FORMATS
from probes.errors import ProbesError, ProviderError, WireError
from probes.findings import FindingKind
from probes.target import Target
from probes.try_endpoint import TryResult


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    text: str = ""
    code: str = ""  # a URL or text of the vendor, escaped by the template


@dataclass(frozen=True, slots=True)
class TryReport:
    status: Status
    badge: str  # not the name of the status: one response is no verdict on health
    title: str
    detail: str  # the error or the findings, in English
    advice: list[str]
    suggestion: str  # a base URL that is likely meant, or ""
    facts: list[Fact]


def build_report(result: TryResult, target: Target, *, key_label: str) -> TryReport:
    """`key_label` describes the key that was sent."""
    status, title = _verdict(result)
    facts = [_reached_fact(result), *_response_facts(result, target), Fact(_("API key"), key_label)]
    return TryReport(
        status,
        badge=_badge(status),
        title=title,
        detail=result.error_text or " ".join(finding.message for finding in result.findings),
        advice=try_advice(result, target),
        suggestion=suggest_base_url(result, target),
        facts=facts,
    )


def _verdict(result: TryResult) -> tuple[Status, str]:
    if result.error is not None:
        return Status.FAILING, _error_title(result.error, result)
    if not result.findings:
        return Status.HEALTHY, _("It works: one tool call came back, just as asked.")
    if any(finding.kind is FindingKind.LEAKED_CALL for finding in result.findings):
        return Status.DEGRADED, _("It answers, but the tool call came as text.")
    if result.format is None:
        return Status.DEGRADED, _("It answers, but made no tool call.")
    return Status.DEGRADED, _("It answers and calls the tool, but not as asked.")


def _badge(status: Status) -> str:
    labels = {Status.HEALTHY: _("works"), Status.DEGRADED: _("look closer")}
    return labels.get(status, _("does not work"))


def _error_title(error: ProbesError, result: TryResult) -> str:
    match error:
        case WireError():
            return _("It answers, but not in the format of this provider.")
        case ProviderError():
            return _("It is reachable, but no model answered.")
        case _ if result.status is not None:
            return _("It is reachable, but its answer could not be read.")
        case _:
            return _("It could not be reached.")


def _reached_fact(result: TryResult) -> Fact:
    if result.status is None:
        return Fact(_("Reached"), _("no"), result.url)
    text = _("yes, HTTP status {status}").format(status=result.status)
    return Fact(_("Reached"), text, result.url)


def _response_facts(result: TryResult, target: Target) -> list[Fact]:
    """The facts of the response, as far as there was one."""
    facts = []
    if result.latency_ms is not None:
        text = _("{seconds} s").format(seconds=f"{result.latency_ms / 1000:.2f}")
        facts.append(Fact(_("Took"), text))
    if result.error is not None:
        return facts
    facts.append(_call_fact(result))
    if result.text and result.format not in FORMATS:
        facts.append(Fact(_("It said"), code=result.text))
    facts.append(_model_fact(result, target))
    facts.append(_tokens_fact(result))
    return facts


def _call_fact(result: TryResult) -> Fact:
    label = _("Tool call")
    if result.format is None:
        return Fact(label, _("none"))
    if result.format in FORMATS:
        return Fact(label, _("yes, in the {name} format").format(name=result.format), result.call)
    return Fact(label, _("as text, in the {name} format").format(name=result.format))


def _model_fact(result: TryResult, target: Target) -> Fact:
    if not result.model:
        return Fact(_("Model"), _("the answer names none"))
    is_same = result.model == target.model
    return Fact(_("Model"), "" if is_same else _("the answer names another one:"), result.model)


def _tokens_fact(result: TryResult) -> Fact:
    usage = result.usage
    if usage.input_tokens is None and usage.output_tokens is None:
        return Fact(_("Tokens"), _("the answer does not tell"))
    unknown = _("unknown")
    text = _("{input} in, {output} out").format(
        input=unknown if usage.input_tokens is None else f"{usage.input_tokens:,}",
        output=unknown if usage.output_tokens is None else f"{usage.output_tokens:,}",
    )
    return Fact(_("Tokens"), text)
