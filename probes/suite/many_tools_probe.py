from __future__ import annotations

import random
from dataclasses import dataclass

from probes.outcomes import Metric
from probes.suite.base import DrawnValues, Script
from probes.suite.probe_tools import ACTIONS, PAPERS, SIMILAR_TOOLS
from probes.suite.question_builder import QuestionBuilder
from probes.suite.random_words import draw_nonce, draw_phrase
from probes.suite.script_steps import ScriptSession, start_conversation

# The task names no tool: the model has to choose one by its description.
PROMPT = """\
Please {action} the {paper} with the reference {reference}, and leave the note "{note}" on it."""


@dataclass(frozen=True, slots=True)
class ManyToolsProbe:
    """Offers twenty tools with similar names, and describes a task for one of them."""

    name: str = "many_tools"
    question: str = "Tool selection: does the model pick the right one of twenty similar tools?"
    settles: str = "Whether the model chooses a tool by its description."
    passes: str = "One call of the right tool arrives, with the requested values."
    fails: str = "Another tool is called, several are, or none; or a value is wrong."
    requests: int = 1
    refusal_metrics: tuple[Metric, ...] = (Metric.PARSE_SUCCESS,)

    def draw(self, rng: random.Random) -> DrawnValues:
        return DrawnValues(
            {
                "action": rng.choice(tuple(ACTIONS)),
                "paper": rng.choice(PAPERS),
                "reference": draw_nonce(rng),
                "note": draw_phrase(rng),
            }
        )

    def script(self, drawn: DrawnValues, builder: QuestionBuilder) -> Script:
        session = ScriptSession(builder, SIMILAR_TOOLS)
        answer = yield from session.ask(start_conversation(PROMPT.format(**drawn.values)))
        if answer.reply is None:
            return session.judge_refusal(answer, self.refusal_metrics)
        turn = session.judge_turn(answer.reply)
        arguments = {name: drawn.values[name] for name in ("reference", "note")}
        tool = "probe_{action}_{paper}".format(**drawn.values)
        session.check_values(turn, [(tool, arguments)])
        return session.judge()


MANY_TOOLS = ManyToolsProbe()
