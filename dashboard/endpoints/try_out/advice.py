"""Advice on an endpoint that failed a try."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from probes.adapters import adapter_for
from probes.adapters.request_url import VERSIONS
from probes.egress_rules import EgressDenied
from probes.errors import (
    AuthRejected,
    ConnectFailed,
    ConnectFailureReason,
    NotFound,
    NotJSON,
    Overloaded,
    Phase,
    ProbesError,
    ProviderError,
    RateLimited,
    Redirected,
    Refused,
    TargetError,
    TimedOut,
    TooLarge,
    TransportError,
    WireError,
)
from probes.findings import FindingKind
from probes.target import Target
from probes.try_endpoint import TryResult


def try_advice(result: TryResult, target: Target) -> list[str]:
    """What to do, one sentence each; empty if the try succeeded."""
    if result.error is None:
        return _findings_advice(result)
    return [_error_advice(result.error, result, target)]


def suggest_base_url(result: TryResult, target: Target) -> str:
    """The base URL that is likely meant, or ""."""
    if not isinstance(result.error, NotFound | NotJSON | Redirected | WireError):
        return ""
    base, path = target.base_url, adapter_for(target.provider).path
    if isinstance(result.error, Redirected):
        return _https_base_url(result, target)
    for tail in (path, path.removeprefix("/v1"), "/models"):
        if base.endswith(tail):
            return base.removesuffix(tail)
    last = base.rpartition("/")[2]
    if path.startswith(tuple(f"/{version}/" for version in VERSIONS)) or last in VERSIONS:
        return ""
    if target.provider == "ollama":
        return ""
    return f"{base}/v1"


def _error_advice(error: ProbesError, result: TryResult, target: Target) -> str:
    match error:
        case EgressDenied():
            return _egress_advice(error)
        case ConnectFailed():
            return _connection_advice(error, target)
        case TransportError():
            return _transport_advice(error, target)
        case AuthRejected():
            return _key_advice(error, target)
        case ProviderError():
            return _provider_advice(error, result)
        case _:
            return _format_advice(error)


def _https_base_url(result: TryResult, target: Target) -> str:
    """The same URL with https if the redirect leads there, else ""."""
    location = urlsplit(result.headers.get("location", ""))
    base = urlsplit(target.base_url)
    is_same_host = location.hostname == base.hostname
    is_upgrade = location.scheme == "https" and base.scheme == "http" and is_same_host
    return target.base_url.replace("http://", "https://", 1) if is_upgrade else ""


def _findings_advice(result: TryResult) -> list[str]:
    kinds = {finding.kind for finding in result.findings}
    if not kinds:
        return []
    advice = []
    if FindingKind.LEAKED_CALL in kinds:
        advice.append(
            _(
                "The server did not turn the model's text into a call. On vLLM or SGLang choose a "
                "tool parser that fits the model; on llama.cpp start with --jinja."
            )
        )
    elif FindingKind.REASONING_ONLY in kinds or _is_truncated(result):
        advice.append(
            _(
                "It ran out of tokens or only thought: a try gives it {tokens}. A run gives it "
                "more, so this may be fine."
            ).format(tokens=f"{result.max_tokens:,}")
        )
    elif result.format is None:
        advice.append(
            _("Check that the model can call tools, and that the server was started with them on.")
        )
    advice.append(_("One answer proves little. It can be added all the same: a run measures it."))
    return advice


def _is_truncated(result: TryResult) -> bool:
    output_tokens = result.usage.output_tokens
    return output_tokens is not None and output_tokens >= result.max_tokens


def _egress_advice(error: EgressDenied) -> str:
    if "EGRESS_GRANTS" in error.message:
        return _(
            "Toolgauge connects to private addresses only where an administrator allowed them: add "
            "this one to EGRESS_GRANTS and restart."
        )
    return _("This address cannot be allowed. Choose another one.")


def _connection_advice(error: ConnectFailed, target: Target) -> str:
    match error.why:
        case ConnectFailureReason.NAME:
            return _(
                "Check the spelling of the host name, and whether this machine's DNS knows it."
            )
        case ConnectFailureReason.TLS if "CERTIFICATE" in error.message.upper():
            return _(
                "The certificate is not one that this machine trusts. Use one that is, or the host "
                "name it was made for."
            )
        case ConnectFailureReason.TLS:
            return _(
                "If the server speaks plain HTTP on this port, begin the base URL with http://."
            )
        case ConnectFailureReason.REFUSED if _is_local(target):
            return _(
                "Nothing listens on that port of this machine. Check the port, and that the server "
                "runs; inside a container, this machine is the container itself."
            )
        case ConnectFailureReason.REFUSED:
            return _("Nothing listens on that port. Check the port, and that the server runs.")
        case ConnectFailureReason.ROUTE:
            return _("Check host and port, and whether a firewall stands in between.")


def _is_local(target: Target) -> bool:
    return urlsplit(target.base_url).hostname in {"127.0.0.1", "localhost", "::1"}


def _transport_advice(error: TransportError, target: Target) -> str:
    match error:
        case TimedOut(phase=Phase.CONNECT):
            return _("Check host and port, and whether a firewall drops packets in between.")
        case TimedOut():
            return _(
                "The model may be loading or slow; a run waits longer than a try. Try again in a "
                "minute, or add it and see."
            )
        case TooLarge():
            return _(
                "A tool call is a few hundred bytes. Check that the base URL is that of an API."
            )
        case _ if target.base_url.startswith("http://"):
            return _("If the server speaks TLS on this port, begin the base URL with https://.")
        case _:
            return _("Try again. If it stays so, look into the log of the server or its proxy.")


def _key_advice(error: AuthRejected, target: Target) -> str:
    if target.key is None:
        return _("It wants an API key, and none was sent. Enter one.")
    if error.status == 403:
        return _("The key is known but may not do this. Check its rights, and the model's name.")
    return _("The API key is wrong, expired or for another service. Copy it again.")


def _provider_advice(error: ProviderError, result: TryResult) -> str:
    if isinstance(error, Refused) and error.kind is FindingKind.NO_TOOLS:
        return _("This model or server takes no tools. Choose another, or switch tools on there.")
    if isinstance(error, Refused) and error.kind is FindingKind.ENDPOINT_MISMATCH:
        return _(
            "Choose the dialect openai_reasoning under “Budget, prices, dialect and request "
            "options”, or the provider openai_responses."
        )
    if isinstance(error, NotJSON) and "html" in result.headers.get("content-type", ""):
        return _("A web page came back: the base URL is that of a site, or of a sign-in page.")
    sentences: dict[type[ProviderError], str] = {
        NotFound: _("Either the path of the base URL or the model's name is not right."),
        RateLimited: _("The key works, but its limit is used up for now. Try again later."),
        Overloaded: _("The trouble is on their side, or the model still loads. Try again later."),
        Redirected: _("Redirects are not followed. Enter the address that it leads to."),
        NotJSON: _("What came back is no API's answer. Check the path of the base URL."),
    }
    default = _("Read what it says, then check the model's name, the provider and the options.")
    return sentences.get(type(error), default)


def _format_advice(error: ProbesError) -> str:
    if isinstance(error, TargetError):
        return _("Mend what it says and try again.")
    return _("Another provider in the list may fit better; for most servers it is openai.")
