"""Whether every call of a history has its one result right behind it, and how to make it so."""

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
    """A closed history, and everything that was changed to get it.

    The path of a change points into the history as it stood when the change was made.
    """

    turns: tuple[Turn, ...]
    changes: tuple[Change, ...]


def check_closure(turns: Sequence[Turn]) -> list[Finding]:
    """Everything for which an endpoint would refuse this history, with its place."""
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
    """Return the turns in a form every provider accepts, and what was changed.

    A call without a result gets an error result right behind it; Anthropic and OpenAI refuse the
    whole request otherwise. Results that stand elsewhere are moved to their call, what answers
    nothing is dropped. Turns that were right are returned as they are.
    """
    changes: list[Change] = []
    owed: dict[PartRef, str] = {}
    whole = _replace_broken(merge_turns(turns, changes), owed, changes)
    pairs = pair_results(whole)
    changes.extend(_changes(whole, pairs, owed))
    if pairs.moved or pairs.missing or pairs.orphans or pairs.duplicates:
        # A dropped orphan may have been all that stood between two halves of one answer.
        whole = merge_turns(_close_turns(whole, pairs, owed), changes)
    return RepairedHistory(tuple(whole), tuple(changes))


def _broken_calls(turns: Sequence[Turn]) -> Iterator[tuple[PartRef, BrokenCall]]:
    for index, turn in enumerate(turns):
        for place, part in enumerate(turn.parts):
            if isinstance(part, BrokenCall):
                yield PartRef(index, place), part


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
    turns: Sequence[Turn], owed: dict[PartRef, str], changes: list[Change]
) -> list[Turn]:
    """The turns with calls in place of broken ones; what each of them is told goes into `owed`."""
    parts = [list(turn.parts) for turn in turns]
    for ref, call in _broken_calls(turns):
        if call.name:
            owed[ref] = json.dumps(call.as_error(), ensure_ascii=False)
            parts[ref.turn][ref.part] = _as_call(call)
            kind = ChangeKind.BROKEN_CALL_CLOSED
            message = f"The call {call.id!r} could not be read and is sent without arguments."
        else:
            parts[ref.turn][ref.part] = Text(call.raw)
            kind = ChangeKind.BROKEN_CALL_AS_TEXT
            message = "A call without a name is sent as the text that it was."
        changes.append(Change(kind, message, ref.path))
    return [_with_parts(turn, tuple(now)) for turn, now in zip(turns, parts, strict=True)]


def _with_parts(turn: Turn, parts: tuple[Part, ...]) -> Turn:
    return turn if parts == turn.parts else replace(turn, parts=parts)


def _as_call(call: BrokenCall) -> ToolCall:
    # Endpoints refuse a history whose arguments are no JSON object, so the text cannot go back.
    repairs = (IN_HISTORY,)
    return ToolCall(call.id, call.name, {}, call.format, "{}", repairs, call.location)


def _close_turns(
    turns: Sequence[Turn], pairs: ResultPairs, owed: Mapping[PartRef, str]
) -> list[Turn]:
    """The turns with every result in its place, and nothing else moved."""
    gone = {*pairs.moved.values(), *pairs.orphans, *pairs.duplicates}
    added = _added(turns, pairs, owed)
    # Results were paired in the order they stand, so the last one of a turn's calls wins.
    last_results = {call.turn: result for call, result in pairs.adjacent.items()}
    behind = {last_results[turn]: added[turn] for turn in added if turn in last_results}
    closed: list[Turn] = []
    for index, turn in enumerate(turns):
        parts = tuple(_parts(turn, index, gone, behind))
        if parts or not turn.parts:
            closed.append(_with_parts(turn, parts))
        if index in added and index not in last_results:
            closed.append(Turn(Role.TOOL, tuple(added[index])))
    return closed


def _parts(
    turn: Turn, index: int, gone: Collection[PartRef], behind: Mapping[PartRef, list[ToolResult]]
) -> Iterator[Part]:
    for place, part in enumerate(turn.parts):
        ref = PartRef(index, place)
        if ref not in gone:
            yield part
        yield from behind.get(ref, ())


def _added(
    turns: Sequence[Turn], pairs: ResultPairs, owed: Mapping[PartRef, str]
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
            content = owed.get(ref) or json.dumps(INTERRUPTED)
            result = ToolResult(call.id, content, is_error=True, name=call.name)
        added[ref.turn].append(result)
    return added


def _changes(
    turns: Sequence[Turn], pairs: ResultPairs, owed: Mapping[PartRef, str]
) -> Iterator[Change]:
    def change(kind: ChangeKind, ref: PartRef, what: str) -> Change:
        part = turns[ref.turn].parts[ref.part]
        id_ = part.call_id if isinstance(part, ToolResult) else getattr(part, "id", "")
        return Change(kind, f"{what} {id_!r}.", ref.path)

    for ref in pairs.missing:
        what = "The structured error is the result of" if ref in owed else "An error result for"
        yield change(ChangeKind.RESULT_SYNTHESISED, ref, what)
    for ref in pairs.moved.values():
        yield change(ChangeKind.RESULT_MOVED, ref, "Moved behind its call: the result for")
    for ref in pairs.orphans:
        yield change(ChangeKind.ORPHAN_DROPPED, ref, "Dropped: a result that answers no call,")
    for ref in pairs.duplicates:
        yield change(ChangeKind.DUPLICATE_DROPPED, ref, "Dropped: a second result for")
