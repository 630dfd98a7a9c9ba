"""Fields that a vendor adds to the model's answer."""

from __future__ import annotations

import time
from collections.abc import Mapping

from probes.adapters.json_fields import object_or_empty
from probes.messages import JSON, Extra
from simulators.vendors.error_envelopes import RELAY_HOST


def no_extra_fields(body: Mapping[str, JSON], streamed: bool) -> Extra:
    return {}


def always_reports_usage(body: Mapping[str, JSON], streamed: bool) -> bool:
    return True


def chat_fields(body: Mapping[str, JSON], streamed: bool) -> Extra:
    """The fields that every compatible server adds to an answer."""
    return {"openai": {"created": int(time.time())}}


def openai_fields(body: Mapping[str, JSON], streamed: bool) -> Extra:
    fields: dict[str, JSON] = {"created": int(time.time()), "service_tier": "default"}
    if not streamed:
        fields["$message"] = {"refusal": None, "annotations": []}
        fields["$choice"] = {"logprobs": None}
    return {"openai": fields}


def responses_fields(body: Mapping[str, JSON], streamed: bool) -> Extra:
    echoed = ("tools", "tool_choice", "parallel_tool_calls", "instructions", "metadata")
    own: dict[str, JSON] = {key: body[key] for key in echoed if key in body}
    return {"openai_responses": {"created_at": int(time.time()), **own}}


def ollama_fields(body: Mapping[str, JSON], streamed: bool) -> Extra:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"ollama": {"created_at": now, "total_duration": 1, "load_duration": 1}}


def chat_reports_usage(body: Mapping[str, JSON], streamed: bool) -> bool:
    """A Chat Completions stream reports usage only if the request enables it."""
    return not streamed or object_or_empty(body.get("stream_options")).get("include_usage") is True


def relay_fields(body: Mapping[str, JSON], streamed: bool) -> Extra:
    """Adds the host behind the relay."""
    return {"openai": {"created": int(time.time()), "provider": RELAY_HOST}}
