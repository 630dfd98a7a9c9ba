"""From a client's request to the one that the endpoint gets: every step in order, each a function.

read → withhold tools → close the history and replay reasoning → limit to what the endpoint takes
→ write. Pure: nothing is sent here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gateway.plan import Plan
from gateway.refusal import Refusal
from gateway.simple_schemas import SimpleSchemas, schemas_at_level
from gateway.tool_access import withhold_tools
from probes.adapters import Adapter
from probes.adapters.request_url import request_url
from probes.dialects.apply import apply_dialect
from probes.errors import WireError
from probes.history.model_conversation import Conversation, SendOptions
from probes.history.request_changes import Change
from probes.http_messages import WireRequest
from probes.losses import Loss
from probes.messages import JSON, ModelCall, ToolChoice, ToolSpec
from probes.secret import Secret
from probes.tool_name_map import ToolNameMap, fit_tool_names

MAX_MESSAGES = 2000
MAX_TOOLS = 256
MAX_SCHEMA_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A client's request as it goes to the endpoint, and everything that was done to it."""

    asked: ModelCall  # as the client sent it
    sent: ModelCall
    body: Mapping[str, JSON]
    choice: ToolChoice | None  # what the answer is held to
    schemas: SimpleSchemas
    names: ToolNameMap
    withheld: tuple[str, ...]
    changes: tuple[Change, ...]
    losses: tuple[Loss, ...]

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the client declared and the model was offered."""
        return tuple(spec for spec in self.asked.tools if spec.name not in self.withheld)

    def count_losses(self) -> dict[str, int]:
        return dict(Counter(str(loss.kind) for loss in self.losses))

    def count_changes(self) -> dict[str, int]:
        return dict(Counter(str(change.kind) for change in self.changes))

    def wire_request(self, plan: Plan, key: Secret | None) -> WireRequest:
        endpoint, adapter = plan.endpoint, plan.adapter
        return WireRequest(
            method="POST",
            url=request_url(adapter, endpoint.url, endpoint.model, stream=self.sent.stream),
            headers={"Content-Type": "application/json", **adapter.headers(key)},
            body=json.dumps(self.body, ensure_ascii=False).encode("utf-8", "replace"),
        )


def build_request(asked: ModelCall, plan: Plan) -> ModelRequest:
    """Prepare a client's request for the endpoint; raises Refusal."""
    _check_size(asked)
    offered = withhold_tools(asked, plan)
    schemas = schemas_at_level(offered.call, plan.simple_level)
    blank = replace(
        schemas.simplify(offered.call),
        model=plan.endpoint.model,
        stream=asked.stream and (plan.streams_tools or not offered.call.tools),
        parallel=False if plan.max_calls == 1 and offered.call.tools else asked.parallel,
        options={**offered.call.options, **plan.endpoint.options},
        generation=replace(asked.generation, include_usage=True),
    )
    sent, changes, losses = _prepare_history(blank, plan)
    sent = _limit_choice(sent, plan)
    losses += tuple(plan.adapter.losses(sent))
    sent, names = fit_tool_names(sent, plan.adapter.format)
    body = plan.output_limit.apply(plan.adapter.write_request(sent))
    return ModelRequest(
        asked,
        sent,
        body,
        offered.call.tool_choice,
        schemas,
        names,
        offered.withheld,
        changes,
        losses,
    )


def _prepare_history(
    blank: ModelCall, plan: Plan
) -> tuple[ModelCall, tuple[Change, ...], tuple[Loss, ...]]:
    if plan.keeps_history:
        applied = apply_dialect(blank, plan.dialect)
        return applied.call, applied.changes, ()
    conversation = Conversation(list(blank.turns))
    prepared = conversation.to_call(
        replace(blank, turns=()), SendOptions(plan.dialect, repair=True)
    )
    return prepared.call, prepared.changes, prepared.losses


def _limit_choice(call: ModelCall, plan: Plan) -> ModelCall:
    """A choice that the endpoint was not measured to take is not sent.

    `required` and a named tool are then checked in the answer; `none` means that no tools are
    offered.
    """
    choice = call.tool_choice
    if choice is None or choice.mode in plan.choices:
        return call
    if choice.mode == "none":
        return replace(call, tools=(), tool_choice=None)
    return replace(call, tool_choice=None)


def _check_size(call: ModelCall) -> None:
    if len(call.turns) > MAX_MESSAGES:
        message = f"The conversation has more than {MAX_MESSAGES} messages. Compact it."
        raise Refusal(403, message, "too_many_messages")
    if len(call.tools) > MAX_TOOLS:
        raise Refusal(403, f"There are more than {MAX_TOOLS} tools.", "too_many_tools")
    for spec in call.tools:
        if spec.schema and len(json.dumps(spec.schema)) > MAX_SCHEMA_BYTES:
            message = f"The schema of the tool {spec.name!r} exceeds {MAX_SCHEMA_BYTES} bytes."
            raise Refusal(403, message, "schema_too_large")


def read_client_request(client: Adapter, body: JSON) -> ModelCall:
    """The request of a client; raises a Refusal that names the invalid place."""
    try:
        return client.read_request(body)
    except WireError as exc:
        message = f"The request is not valid: {exc.message} (at {exc.at or '$'})"
        raise Refusal(400, message, "invalid_request") from exc
