"""Checks that every call of a history is followed by exactly one result, and repairs it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from probes.findings import Finding, FindingKind
from probes.history.merging import merge_turns
from probes.history.pairing import PartRef, ResultPairs, pair_results
from probes.history.request_changes import Change, ChangeKind
from probes.messages import JSON, BrokenCall, Part, Role, Text, ToolCall, ToolResult, Turn

INTERRUPTED: Mapping[str, JSON] = {
    "is_error": True,
    "error_code": "interrupted",
    "message": "The call was interrupted and gave no result.",
    "path": "",
    "retryable": True,
}
IN_HISTORY = "broken_in_history"


@dataclass(frozen=True, slots=True)
class RepairedHistory:
    """A closed history, and everything that was changed.

    The path of a change refers to the history at the time of the change.
    """

    turns: tuple[Turn, ...]
    changes: tuple[Change, ...]


def check_closure(turns: Sequence[Turn]) -> list[Finding]:
    """Everything in this history that an endpoint would refuse, with its path."""
    pairs = pair_results(turns)
    broken = dict(_broken_calls(turns))
    findings = [(ref, _broken_finding(ref, call)) for ref, call in broken.items()]
    for ref in pairs.missing:
        if ref not in broken:
            findings.append(
                (ref, _finding(FindingKind.CLOSURE_MISSING, "has no result", turns, ref))
            )
    for ref in pairs.moved.values():
        problem = "does not stand right behind its call"
        findings.append((ref, _finding(FindingKind.CLOSURE_ORDER, problem, turns, ref)))
    for ref in pairs.orphans:
        findings.append((ref, _finding(FindingKind.CLOSURE_ORPHAN, "answers no call", turns, ref)))
    for ref in pairs.duplicates:
        problem = "answers a call that has its result already"
        findings.append((ref, _finding(FindingKind.CLOSURE_DUPLICATE, problem, turns, ref)))
    return [finding for _, finding in sorted(findings, key=lambda located: located[0])]


def repair_closure(turns: Sequence[Turn]) -> RepairedHistory:
    """Return the turns in a form that every provider accepts, and the changes.

    A call without a result gets an error result right after it; Anthropic and OpenAI refuse the
    whole request otherwise. Misplaced results are moved to their call, and results without a call
    are dropped. Valid turns are returned unchanged.
    """
    changes: list[Change] = []
    error_contents: dict[PartRef, str] = {}
    repaired = _replace_broken(merge_turns(turns, changes), error_contents, changes)
    pairs = pair_results(repaired)
    changes.extend(_changes(repaired, pairs, error_contents))
    if pairs.moved or pairs.missing or pairs.orphans or pairs.duplicates:
        # A dropped orphan may have separated two halves of one answer.
        repaired = merge_turns(_close_turns(repaired, pairs, error_contents), changes)
    return RepairedHistory(tuple(repaired), tuple(changes))


def _broken_calls(turns: Sequence[Turn]) -> Iterator[tuple[PartRef, BrokenCall]]:
    for index, turn in enumerate(turns):
        for position, part in enumerate(turn.parts):
            if isinstance(part, BrokenCall):
                yield PartRef(index, position), part


def _broken_finding(ref: PartRef, call: BrokenCall) -> Finding:
    message = f"The call {call.id!r} could not be read, so no format can carry it: {call.error}"
    return Finding(FindingKind(call.kind), message, ref.path)


def _finding(kind: FindingKind, problem: str, turns: Sequence[Turn], ref: PartRef) -> Finding:
    part = turns[ref.turn].parts[ref.part]
    if isinstance(part, ToolResult):
        return Finding(kind, f"The result for {part.call_id!r} {problem}.", ref.path)
    assert isinstance(part, ToolCall | BrokenCall)
    return Finding(kind, f"The call {part.id!r} of {part.name!r} {problem}.", ref.path)


def _replace_broken(
    turns: Sequence[Turn], error_contents: dict[PartRef, str], changes: list[Change]
) -> list[Turn]:
    """The turns with calls instead of broken ones; their error results go into `error_contents`."""
    parts = [list(turn.parts) for turn in turns]
    for ref, call in _broken_calls(turns):
        if call.name:
            error_contents[ref] = json.dumps(call.as_error(), ensure_ascii=False)
            parts[ref.turn][ref.part] = _as_call(call)
            kind = ChangeKind.BROKEN_CALL_CLOSED
            message = f"The call {call.id!r} could not be read and is sent without arguments."
        else:
            parts[ref.turn][ref.part] = Text(call.raw)
            kind = ChangeKind.BROKEN_CALL_AS_TEXT
            message = "A call without a name is sent as the text that it was."
        changes.append(Change(kind, message, ref.path))
    return [
        _with_parts(turn, tuple(new_parts)) for turn, new_parts in zip(turns, parts, strict=True)
    ]


def _with_parts(turn: Turn, parts: tuple[Part, ...]) -> Turn:
    return turn if parts == turn.parts else replace(turn, parts=parts)


def _as_call(call: BrokenCall) -> ToolCall:
    # Endpoints refuse arguments in the history that are no JSON object, so the text is not sent.
    repairs = (IN_HISTORY,)
    return ToolCall(call.id, call.name, {}, call.format, "{}", repairs, call.location)


def _close_turns(
    turns: Sequence[Turn], pairs: ResultPairs, error_contents: Mapping[PartRef, str]
) -> list[Turn]:
    """The turns with every result in its place, and nothing else moved."""
    removed = {*pairs.moved.values(), *pairs.orphans, *pairs.duplicates}
    added = _missing_results(turns, pairs, error_contents)
    # Results are paired in order, so the last one of a turn's calls wins.
    last_results = {call.turn: result for call, result in pairs.adjacent.items()}
    inserted = {last_results[turn]: added[turn] for turn in added if turn in last_results}
    closed: list[Turn] = []
    for index, turn in enumerate(turns):
        parts = tuple(_parts(turn, index, removed, inserted))
        if parts or not turn.parts:
            closed.append(_with_parts(turn, parts))
        if index in added and index not in last_results:
            closed.append(Turn(Role.TOOL, tuple(added[index])))
    return closed


def _parts(
    turn: Turn,
    index: int,
    removed: Collection[PartRef],
    inserted: Mapping[PartRef, list[ToolResult]],
) -> Iterator[Part]:
    for position, part in enumerate(turn.parts):
        ref = PartRef(index, position)
        if ref not in removed:
            yield part
        yield from inserted.get(ref, ())


def _missing_results(
    turns: Sequence[Turn], pairs: ResultPairs, error_contents: Mapping[PartRef, str]
) -> dict[int, list[ToolResult]]:
    """The results that the calls of each turn still need, in the order of the calls."""
    added: dict[int, list[ToolResult]] = defaultdict(list)
    for ref in sorted([*pairs.moved, *pairs.missing]):
        call = turns[ref.turn].parts[ref.part]
        assert isinstance(call, ToolCall)
        if ref in pairs.moved:
            at = pairs.moved[ref]
            result = turns[at.turn].parts[at.part]
            assert isinstance(result, ToolResult)
        else:
            content = error_contents.get(ref) or json.dumps(INTERRUPTED)
            result = ToolResult(call.id, content, is_error=True, name=call.name)
        added[ref.turn].append(result)
    return added


def _changes(
    turns: Sequence[Turn], pairs: ResultPairs, error_contents: Mapping[PartRef, str]
) -> Iterator[Change]:
    def change(kind: ChangeKind, ref: PartRef, what: str) -> Change:
        part = turns[ref.turn].parts[ref.part]
        id_ = part.call_id if isinstance(part, ToolResult) else getattr(part, "id", "")
        return Change(kind, f"{what} {id_!r}.", ref.path)

    for ref in pairs.missing:
        what = (
            "The structured error is the result of"
            if ref in error_contents
            else "An error result for"
        )
        yield change(ChangeKind.RESULT_SYNTHESISED, ref, what)
    for ref in pairs.moved.values():
        yield change(ChangeKind.RESULT_MOVED, ref, "Moved behind its call: the result for")
    for ref in pairs.orphans:
        yield change(ChangeKind.ORPHAN_DROPPED, ref, "Dropped: a result that answers no call,")
    for ref in pairs.duplicates:
        yield change(ChangeKind.DUPLICATE_DROPPED, ref, "Dropped: a second result for")
