"""What came of a try, in plain words: a verdict, the facts, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard.endpoints.try_out.advice import advice, suggestion
from health.status import Status
from probes.adapters import FORMATS
from probes.errors import ProbesError, ProviderError, WireError
from probes.findings import FindingKind
from probes.target import Target
from probes.try_endpoint import TryResult


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    words: str = ""
    code: str = ""  # what a vendor sent, or an address: shown as it is, made inert


@dataclass(frozen=True, slots=True)
class Told:
    status: Status
    word: str  # on the badge: one answer is no verdict on health
    title: str
    error_text: str  # the trouble as the probe tells it, in English
    advice: list[str]
    suggestion: str  # another base URL, where one is likely meant
    facts: list[Fact]


def tell(tried: TryResult, target: Target, *, with_key: str) -> Told:
    """`with_key` says in words which key was sent."""
    status, title = _verdict(tried)
    facts = [_reached(tried), *_answered(tried, target), Fact(_("API key"), with_key)]
    said = tried.error_text or " ".join(finding.message for finding in tried.findings)
    other = suggestion(tried, target)
    return Told(status, _word(status), title, said, advice(tried, target), other, facts)


def _verdict(tried: TryResult) -> tuple[Status, str]:
    if tried.error is not None:
        return Status.FAILING, _trouble(tried.error)
    if not tried.findings:
        return Status.HEALTHY, _("It works: one tool call came back, just as asked.")
    if any(finding.kind is FindingKind.LEAKED_CALL for finding in tried.findings):
        return Status.DEGRADED, _("It answers, but the tool call came as text.")
    if tried.format is None:
        return Status.DEGRADED, _("It answers, but made no tool call.")
    return Status.DEGRADED, _("It answers and calls the tool, but not as asked.")


def _word(status: Status) -> str:
    words = {Status.HEALTHY: _("works"), Status.DEGRADED: _("look closer")}
    return words.get(status, _("does not work"))


def _trouble(error: ProbesError) -> str:
    match error:
        case WireError():
            return _("It answers, but not in the format of this provider.")
        case ProviderError():
            return _("It is reachable, but no model answered.")
        case _ if error.received is not None:
            return _("It is reachable, but its answer could not be read.")
        case _:
            return _("It could not be reached.")


def _reached(tried: TryResult) -> Fact:
    if tried.status is None:
        return Fact(_("Reached"), _("no"), tried.url)
    told = _("yes, HTTP status {status}").format(status=tried.status)
    return Fact(_("Reached"), told, tried.url)


def _answered(tried: TryResult, target: Target) -> list[Fact]:
    """Facts of an answer, as far as there was one."""
    facts = []
    if tried.latency_ms is not None:
        told = _("{seconds} s").format(seconds=f"{tried.latency_ms / 1000:.2f}")
        facts.append(Fact(_("Took"), told))
    if tried.error is not None:
        return facts
    facts.append(_call(tried))
    if tried.text and tried.format not in FORMATS:
        facts.append(Fact(_("It said"), code=tried.text))
    facts.append(_model(tried, target))
    facts.append(_tokens(tried))
    return facts


def _call(tried: TryResult) -> Fact:
    label = _("Tool call")
    if tried.format is None:
        return Fact(label, _("none"))
    if tried.format in FORMATS:
        return Fact(label, _("yes, in the {name} format").format(name=tried.format), tried.call)
    return Fact(label, _("as text, in the {name} format").format(name=tried.format))


def _model(tried: TryResult, target: Target) -> Fact:
    if not tried.model:
        return Fact(_("Model"), _("the answer names none"))
    same = tried.model == target.model
    return Fact(_("Model"), "" if same else _("the answer names another one:"), tried.model)


def _tokens(tried: TryResult) -> Fact:
    used = tried.usage
    if used.input_tokens is None and used.output_tokens is None:
        return Fact(_("Tokens"), _("the answer does not tell"))
    unknown = _("unknown")
    told = _("{input} in, {output} out").format(
        input=unknown if used.input_tokens is None else f"{used.input_tokens:,}",
        output=unknown if used.output_tokens is None else f"{used.output_tokens:,}",
    )
    return Fact(_("Tokens"), told)
