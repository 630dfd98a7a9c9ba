"""Request rules of the Responses API: item ids, and reasoning paired with the item it led to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.adapters.json_fields import list_or_empty, object_or_empty, text_or_empty
from probes.messages import JSON
from simulators.vendors import closure_rules
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.item_ids import required_reasoning_id
from simulators.vendors.spec import VendorRequest

Item = Mapping[str, JSON]
PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs"}


def check_responses(request: VendorRequest) -> None:
    previous = request.body.get("previous_response_id")
    if isinstance(previous, str):
        # Nothing is stored, as for an account without data retention.
        raise RequestRefused(
            f"Previous response with id '{previous}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    items = [object_or_empty(item) for item in list_or_empty(request.body.get("input"))]
    _check_ids(items)
    closure_rules.check_responses_closure(request.body)
    _check_pairs(items)


def _check_ids(items: Sequence[Item]) -> None:
    for index, item in enumerate(items):
        id_, prefix = item.get("id"), PREFIXES.get(_kind(item))
        if isinstance(id_, str) and prefix and not id_.startswith(prefix):
            raise RequestRefused(
                f"Invalid 'input[{index}].id': '{id_}'. Expected an ID that begins with "
                f"'{prefix}'.",
                param=f"input[{index}].id",
                code="invalid_value",
            )


def _check_pairs(items: Sequence[Item]) -> None:
    """A reasoning item and the item it led to are replayed together, or the latter has no id."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        id_, kind = text_or_empty(item.get("id")), _kind(item)
        if kind == "reasoning":
            seen.add(id_)
            if not _is_output(items[index + 1 : index + 2]):
                text = f"Item '{id_}' of type 'reasoning' was provided without its required"
                raise RequestRefused(f"{text} following item.", param="input")
            continue
        required_id = required_reasoning_id(id_)
        if required_id and required_id not in seen:
            raise RequestRefused(
                f"Item '{id_}' of type '{kind}' was provided without its required 'reasoning' "
                f"item: '{required_id}'.",
                param="input",
            )


def _is_output(items: Sequence[Item]) -> bool:
    """Whether the first item is a model's output."""
    if not items:
        return False
    kind = _kind(items[0])
    if kind == "message":
        return items[0].get("role") == "assistant"
    return not kind.endswith("_output")


def _kind(item: Item) -> str:
    return text_or_empty(item.get("type")) or "message"
