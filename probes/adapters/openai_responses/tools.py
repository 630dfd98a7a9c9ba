"""Tools and tool choices of the Responses API, in both directions.

A namespace groups tools under a name of its own. Here its tools are functions like any other, with
both names in one; `ToolSpec.client_tool` says how they were declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from probes.adapters.json_fields import (
    join_levels,
    keep_extra,
    list_or_empty,
    object_or_empty,
    own_inner_fields,
    own_outer_fields,
    require_object,
    text_or_empty,
    unread_fields,
)
from probes.adapters.openai_chat.tools import (
    KNOWN_FUNCTION,
    allowed_tools,
    read_custom,
    read_function,
    read_tools,
    write_custom,
    write_function,
)
from probes.adapters.openai_responses.items import FORMAT, flat_name
from probes.adapters.tool_calls import insert_vendor_tools, is_native
from probes.messages import JSON, ClientTool, ModelCall, ToolChoice, ToolSpec, VendorTool

MODES = frozenset({"auto", "none", "required"})
KNOWN_CUSTOM = ("name", "description")


@dataclass
class ToolReader:
    """The tools of one request. No two of them have the same name here."""

    taken: set[str] = field(default_factory=set)

    def read(self, value: JSON) -> tuple[tuple[ToolSpec, ...], tuple[VendorTool, ...]]:
        plain = (object_or_empty(entry).get("name") for entry in list_or_empty(value))
        self.taken = {name for name in plain if isinstance(name, str)}
        return read_tools(value, FORMAT, self._specs)

    def _specs(self, entry: Mapping[str, JSON], path: str) -> Iterator[ToolSpec]:
        match entry.get("type"):
            case "function" | "custom":
                yield _read_spec(entry, path, "")
            case "namespace":
                yield from self._namespace(entry, path)
            case _:
                return

    def _namespace(self, entry: Mapping[str, JSON], path: str) -> Iterator[ToolSpec]:
        namespace = text_or_empty(entry.get("name"))
        inner = [
            require_object(tool, f"{path}.tools") for tool in list_or_empty(entry.get("tools"))
        ]
        # A namespace of other tools is kept whole.
        if not all(tool.get("type") in ("function", "custom") for tool in inner):
            return
        own = unread_fields(entry, "type", "name", "tools")
        for tool in inner:
            spec = _read_spec(tool, f"{path}.tools", namespace)
            more = join_levels(own_outer_fields(spec.extra, FORMAT), namespace=own)
            name = self._unused(flat_name(namespace, spec.name))
            yield replace(spec, name=name, extra=keep_extra(FORMAT, more))

    def _unused(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def write_tools(call: ModelCall) -> list[JSON]:
    """All tools, those of a namespace in one entry, those of the format at their positions."""
    tools: list[JSON] = []
    for namespace, group in groupby(call.tools, key=_namespace_of):
        specs = list(group)
        entries = [_write_spec(spec) for spec in specs]
        if namespace:
            own = own_inner_fields(specs[0].extra, FORMAT, "namespace")
            tools.append({"type": "namespace", "name": namespace, **own, "tools": entries})
        else:
            tools += entries
    return insert_vendor_tools(tools, call, FORMAT)


def read_choice(value: JSON, names: Mapping[tuple[str, str], str]) -> ToolChoice | None:
    """The choice of a tool_choice field; `names` are those of tools in a namespace."""
    match value:
        case str() if value in MODES:
            return ToolChoice(value)
        case {"type": "allowed_tools", "mode": mode, "tools": tools}:
            return allowed_tools(mode, tools, lambda tool: _chosen_name(tool, names))
        case Mapping() if name := _chosen_name(value, names):
            return ToolChoice("named", name)
        case _:
            return None


def write_choice(choice: ToolChoice, call: ModelCall) -> JSON:
    """The tool_choice field."""
    specs = {spec.name: spec for spec in call.tools}
    if choice.mode == "named":
        return _write_chosen(choice.name, specs)
    if choice.names:
        tools = [_write_chosen(name, specs) for name in choice.names]
        return {"type": "allowed_tools", "mode": choice.mode, "tools": tools}
    return choice.mode


def namespaced_names(specs: tuple[ToolSpec, ...]) -> dict[tuple[str, str], str]:
    """The names of tools by namespace and name, as their calls give them."""
    declared = [(spec.client_tool, spec.name) for spec in specs]
    return {(tool.namespace, tool.name): name for tool, name in declared if tool is not None}


def _read_spec(entry: Mapping[str, JSON], path: str, namespace: str) -> ToolSpec:
    is_custom = entry.get("type") == "custom"
    name = text_or_empty(entry.get("name"))
    declared = ClientTool(FORMAT, name, namespace, is_custom)
    if is_custom:
        own = unread_fields(entry, "type", *KNOWN_CUSTOM)
        return read_custom(entry, path, keep_extra(FORMAT, own), declared)
    own = unread_fields(entry, "type", *KNOWN_FUNCTION)
    return read_function(entry, path, keep_extra(FORMAT, own), declared if namespace else None)


def _write_spec(spec: ToolSpec) -> dict[str, JSON]:
    own = own_outer_fields(spec.extra, FORMAT)
    if not is_native(spec, FORMAT) or spec.client_tool is None:
        return {"type": "function", **write_function(spec), **own}
    if spec.client_tool.custom:
        return {"type": "custom", **write_custom(spec), **own}
    return {"type": "function", **write_function(spec), "name": spec.client_tool.name, **own}


def _namespace_of(spec: ToolSpec) -> str:
    return spec.client_tool.namespace if spec.client_tool and is_native(spec, FORMAT) else ""


def _chosen_name(choice: Mapping[str, JSON], names: Mapping[tuple[str, str], str]) -> str:
    """The tool that an entry names: by its name, its server, or its type."""
    fields = (choice.get(key) for key in ("name", "server_label", "type"))
    name = next((value for value in fields if isinstance(value, str) and value), "")
    return names.get((text_or_empty(choice.get("namespace")), name), name)


def _write_chosen(name: str, specs: Mapping[str, ToolSpec]) -> dict[str, JSON]:
    spec = specs.get(name)
    if spec is None or spec.client_tool is None or not is_native(spec, FORMAT):
        return {"type": "function", "name": name}
    tool = spec.client_tool
    return {"type": "custom" if tool.custom else "function", "name": tool.name}
