"""Vendors that serve their own open models, and a relay in front of many hosts."""

from __future__ import annotations

from dataclasses import replace

from simulators.vendors import (
    deepseek_rules,
    error_envelopes,
    extra_fields,
    hosted_rules,
    metadata_routes,
    minimax_rules,
    reply_style,
    thinking_switches,
    vendor_auth,
)
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.model_traits import (
    DEEPSEEK_ANTHROPIC_MODELS,
    DEEPSEEK_MODELS,
    GLM_MODELS,
    KIMI_MODELS,
    MINIMAX_MODELS,
    QWEN_MODELS,
    RELAY_MODELS,
)
from simulators.vendors.reply_style import HEX, LOWER, IdStyle, ReplyStyle
from simulators.vendors.spec import Spec

_UNFORCED = ("auto", "none")
_REASONING = reply_style.reasoning_as_field("reasoning_content")
_DEEPSEEK_CALLS = IdStyle("call_", 24, form="{index:02}_{drawn}")
_DEEPSEEK = Spec(
    name="deepseek",
    title="DeepSeek",
    mount="/deepseek/v1",
    provider="deepseek",
    style=ReplyStyle(
        "openai",
        IdStyle("", 32, HEX),
        _DEEPSEEK_CALLS,
        _REASONING,
        "fp_a49d71b8a1",
    ),
    models=DEEPSEEK_MODELS,
    envelope=error_envelopes.deepseek_envelope,
    error_type="application/octet-stream",
    rule=deepseek_rules.check_deepseek,
    images=("refused", "refused"),
    thinking_choices=_UNFORCED,
    own_parameters=frozenset({"thinking"}),
    thinking_switch=thinking_switches.chat,
    unknown_model=RequestRefused("Model Not Exist"),
    auth=vendor_auth.DEEPSEEK,
    malformed="Failed to deserialize the JSON body into the target type: {detail}",
    extra_fields=extra_fields.chat_fields,
    reports_usage=extra_fields.chat_reports_usage,
    request_id="x-ds-trace-id",
    endpoints=metadata_routes.CHAT_MODELS,
)
_MINIMAX_CALLS = IdStyle("call_function_", 12, LOWER, form="{drawn}_{place}")
_MINIMAX_UNKNOWN = RequestRefused("invalid params, unknown model '{model}' (2013)")

OPEN_MODELS: tuple[Spec, ...] = (
    _DEEPSEEK,
    replace(
        _DEEPSEEK,
        name="deepseek-anthropic",
        title="DeepSeek in Anthropic's format",
        mount="/deepseek/anthropic",
        provider="anthropic",
        style=ReplyStyle(
            "anthropic", IdStyle("", 32, HEX), _DEEPSEEK_CALLS, reply_style.reasoning_as_block
        ),
        models=DEEPSEEK_ANTHROPIC_MODELS,
        rule=deepseek_rules.check_deepseek_anthropic,
        images=("used", "used"),
        thinking_switch=thinking_switches.anthropic,
        auth=vendor_auth.DEEPSEEK_ANTHROPIC,
        extra_fields=extra_fields.no_extra_fields,
        reports_usage=extra_fields.always_reports_usage,
        endpoints={},
    ),
    Spec(
        name="minimax",
        title="MiniMax",
        mount="/minimax/v1",
        provider="minimax",
        style=ReplyStyle(
            "openai", IdStyle("", 32, HEX), _MINIMAX_CALLS, reply_style.reasoning_as_split
        ),
        models=MINIMAX_MODELS,
        envelope=error_envelopes.minimax_envelope,
        rule=minimax_rules.check_minimax,
        own_parameters=frozenset({"reasoning_split"}),
        thinking_switch=thinking_switches.chat,
        unknown_model=_MINIMAX_UNKNOWN,
        auth=vendor_auth.MINIMAX,
        malformed="invalid params, {detail} (2013)",
        extra_fields=extra_fields.chat_fields,
        reports_usage=extra_fields.chat_reports_usage,
        request_id="trace-id",
    ),
    Spec(
        name="minimax-anthropic",
        title="MiniMax in Anthropic's format",
        mount="/minimax/anthropic",
        provider="anthropic",
        style=ReplyStyle(
            "anthropic", IdStyle("", 32, HEX), _MINIMAX_CALLS, reply_style.reasoning_as_block
        ),
        models=MINIMAX_MODELS,
        envelope=error_envelopes.anthropic_envelope,
        rule=minimax_rules.check_minimax_anthropic,
        thinking_switch=thinking_switches.anthropic,
        unknown_model=_MINIMAX_UNKNOWN,
        auth=vendor_auth.MINIMAX_ANTHROPIC,
        malformed="invalid params, {detail} (2013)",
        request_id="trace-id",
    ),
    Spec(
        name="glm",
        title="GLM (Z.AI)",
        mount="/glm/api/paas/v4",
        provider="glm",
        style=ReplyStyle("openai", IdStyle("", 30, HEX), IdStyle("call_", 19), _REASONING),
        models=GLM_MODELS,
        envelope=error_envelopes.glm_envelope,
        rule=hosted_rules.check_glm,
        choices=("auto",),
        own_parameters=frozenset({"thinking", "tool_stream"}),
        thinking_switch=thinking_switches.thinking_only,
        unknown_model=RequestRefused("Unknown Model, please check the model code.", code="1211"),
        auth=vendor_auth.GLM,
        malformed="Invalid API parameter, please check the documentation.",
        extra_fields=extra_fields.chat_fields,
        reports_usage=extra_fields.chat_reports_usage,
        endpoints=metadata_routes.CHAT_MODELS,
        faults="whole-arguments",
    ),
    Spec(
        name="qwen",
        title="Qwen (DashScope)",
        mount="/qwen/v1",
        provider="qwen",
        style=ReplyStyle(
            "openai", IdStyle("chatcmpl-", 32, HEX), IdStyle("call_", 24, HEX), _REASONING
        ),
        models=QWEN_MODELS,
        envelope=error_envelopes.dashscope_envelope,
        rule=hosted_rules.check_qwen,
        thinking_choices=_UNFORCED,
        own_parameters=frozenset({"enable_thinking"}),
        thinking_switch=thinking_switches.qwen,
        unknown_model=RequestRefused(error_envelopes.NO_MODEL, status=404, code="model_not_found"),
        auth=vendor_auth.DASHSCOPE,
        malformed="<400> InternalError.Algo.InvalidParameter: {detail}",
        extra_fields=extra_fields.chat_fields,
        reports_usage=extra_fields.chat_reports_usage,
        endpoints=metadata_routes.CHAT_MODELS,
    ),
    Spec(
        name="kimi",
        title="Kimi (Moonshot)",
        mount="/kimi/v1",
        provider="kimi",
        style=ReplyStyle(
            "openai",
            IdStyle("chatcmpl-", 24, HEX),
            IdStyle("functions.", 0, form="{name}:{number}"),
            _REASONING,
        ),
        models=KIMI_MODELS,
        envelope=error_envelopes.kimi_envelope,
        rule=hosted_rules.check_kimi,
        thinking_choices=_UNFORCED,
        own_parameters=frozenset({"thinking"}),
        thinking_switch=thinking_switches.thinking_only,
        unknown_model=RequestRefused(
            "Not found the model {model} or Permission denied", status=404
        ),
        auth=vendor_auth.KIMI,
        malformed="Invalid request: {detail}",
        extra_fields=extra_fields.chat_fields,
        reports_usage=extra_fields.chat_reports_usage,
        request_id="msh-request-id",
        endpoints=metadata_routes.CHAT_MODELS,
    ),
    Spec(
        name="relay",
        title="A relay that picks a host (OpenRouter)",
        mount="/relay/v1",
        provider="openai",
        style=ReplyStyle(
            "openai", IdStyle("gen-", 20), reply_style.CALL_IDS, reply_style.reasoning_as_relayed
        ),
        models=RELAY_MODELS,
        envelope=error_envelopes.relay_envelope,
        rule=hosted_rules.check_relay,
        own_parameters=frozenset({"reasoning"}),
        thinking_switch=thinking_switches.relay,
        unknown_model=RequestRefused("{model} is not a valid model ID"),
        auth=vendor_auth.RELAY,
        extra_fields=extra_fields.relay_fields,
        reports_usage=extra_fields.chat_reports_usage,
        endpoints=metadata_routes.CHAT_MODELS,
    ),
)
