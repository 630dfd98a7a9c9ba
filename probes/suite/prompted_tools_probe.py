from __future__ import annotations

import json
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from probes.history.model_conversation import Conversation
from probes.messages import Reply, Stop, Text, ToolSpec
from probes.outcomes import Finding, FindingKind, Metric
from probes.suite.base import Answer, DrawnValues, Question, Script
from probes.suite.probe_tools import PROBE_ADD, PROBE_ECHO, TAGS
from probes.suite.question_builder import OWN_ORIGIN, QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import ScriptSession
from probes.suite.turn_judge import find_wrong_values
from probes.text_answer import read_text_answer

TOOLS = (PROBE_ECHO, PROBE_ADD)
PROMPT = """\
Call the tool {tool} once, with these arguments:
message: {message}
tag: {tag}
Its result holds a nonce. When you have it, reply with the nonce, exactly as it is."""
HERMES = """\
You can call tools. They are described between <tools> tags, one JSON object per line:
<tools>
{tools}
</tools>
To call a tool, write its name and arguments as a JSON object between <tool_call> tags:
<tool_call>
{{"name": "<tool name>", "arguments": {{"<argument>": "<value>"}}}}
</tool_call>
Then stop: the result comes in the next message, between <tool_response> tags."""
JSON_TEXT = """\
You can call tools. They are described here, one JSON object per line:
{tools}
To call a tool, answer with a JSON object of its name and arguments, and with nothing else:
{{"name": "<tool name>", "arguments": {{"<argument>": "<value>"}}}}
Then stop: the result comes in the next message, after the words "Tool result:"."""


@dataclass(frozen=True, slots=True)
class PromptedFormat:
    """A text format for calls; `name` is its parser. `{}` in `result` is a tool's result."""

    name: str
    prompt: str
    result: str


FORMATS = (
    PromptedFormat("hermes", HERMES, "<tool_response>\n{}\n</tool_response>"),
    PromptedFormat("json_text", JSON_TEXT, "Tool result: {}"),
)


@dataclass(frozen=True, slots=True)
class PromptedToolsProbe:
    """Describes tools in the system prompt, sends none, and returns the result as text."""

    name: str = "prompted_tools"
    question: str = "Prompted tools: does a call format described in the prompt work?"
    settles: str = "Which text format works for tools that are described in the prompt."
    passes: str = "The call arrives in the described format, and its result, sent as text, is used."
    fails: str = "No described format works. This counts in no metric."
    requests: int = 2 * len(FORMATS)
    refusal_metrics: tuple[Metric, ...] = ()

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues(
            {"message": draw_phrase(rng), "tag": rng.choice(TAGS), "nonce": draw_nonce(rng)}
        )

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, ())
        found: list[Finding] = []
        for text_format in FORMATS:
            conversation = _conversation(text_format, drawn)
            label = f"tools described as {text_format.name}"
            (answer,) = yield (Question(builder.call(conversation, ()), label),)
            if answer.reply is None:
                return session.judge_refusal(answer)
            session.note_deviations(answer.reply)
            faults = _find_faults(answer.reply, text_format, drawn)
            if not faults:
                conversation.add_reply(answer.reply, OWN_ORIGIN)
                faults = yield from _return_result(session, conversation, text_format, drawn)
            if not faults:
                session.facts["prompted"] = text_format.name
                return session.judge()
            found += faults
        session.facts["prompted"] = "none"
        session.findings += found
        return session.judge()


def _conversation(text_format: PromptedFormat, drawn: DrawnValues) -> Conversation:
    conversation = Conversation()
    conversation.add_system(text_format.prompt.format(tools=_describe_tools(TOOLS)))
    conversation.add_user(PROMPT.format(tool=PROBE_ECHO.name, **drawn.values))
    return conversation


def _describe_tools(tools: Sequence[ToolSpec]) -> str:
    return "\n".join(
        json.dumps({"name": t.name, "description": t.description, "parameters": t.schema})
        for t in tools
    )


def _find_faults(
    reply: Reply, text_format: PromptedFormat, drawn: DrawnValues
) -> tuple[Finding, ...]:
    """What is wrong with a call, read by the parser of the described format alone."""
    texts = [part.text for part in reply.parts if isinstance(part, Text)]
    truncated = reply.stop is Stop.LENGTH
    read = read_text_answer(texts, TOOLS, format=text_format.name, truncated=truncated)
    if not read.calls and not read.broken:
        message = f"No call can be read in the {text_format.name} format of the prompt."
        return (Finding(FindingKind.NO_CALL, message, "$.text"),)
    if read.broken:
        return tuple(Finding(FindingKind(c.kind), c.error, c.path) for c in read.broken)
    expected = {name: drawn.values[name] for name in ("message", "tag")}
    return find_wrong_values(read.calls, [(PROBE_ECHO.name, expected)])


def _return_result(
    session: ScriptSession,
    conversation: Conversation,
    text_format: PromptedFormat,
    drawn: DrawnValues,
) -> Generator[Sequence[Question], Sequence[Answer], tuple[Finding, ...]]:
    """Send the result as the text of a user message; it must be used in the answer."""
    result = json.dumps({"ok": True, "nonce": drawn.values["nonce"]})
    conversation.add_user(text_format.result.format(result))
    call = session.builder.call(conversation, ())
    (answer,) = yield (Question(call, f"with the result as text ({text_format.name})"),)
    if answer.refusal is not None:
        return (Finding(answer.refusal.kind, answer.refusal.message),)
    assert answer.reply is not None
    session.note_deviations(answer.reply)
    if str(drawn.values["nonce"]) in (answer.reply.text or ""):
        return ()
    message = f"The result, sent as text for the {text_format.name} format, is not used."
    return (Finding(FindingKind.RESULT_UNUSED, message, "$.text"),)


PROMPTED_TOOLS = PromptedToolsProbe()
