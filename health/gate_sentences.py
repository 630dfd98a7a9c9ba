"""The sentences of gate conditions, with placeholders for figures."""

from __future__ import annotations

from health.detector import BaselineState
from health.gate_result import ConditionState
from health.translation import mark, say_many


def runs(count: int) -> str:
    return say_many(
        "{count} run has finished; wanted: {wanted}.",
        "{count} runs have finished; wanted: {wanted}.",
        count,
    )


def full_runs(count: int) -> str:
    return say_many(
        "{count} run with the full suite has finished; wanted: {wanted}.",
        "{count} runs with the full suite have finished; wanted: {wanted}.",
        count,
    )


def trials(count: int) -> str:
    return say_many(
        "{count} trial of parse success was made; wanted: {wanted}.",
        "{count} trials of parse success were made; wanted: {wanted}.",
        count,
    )


def incidents(count: int) -> str:
    return say_many("{count} incident is open.", "{count} incidents are open.", count)


def more_trials(count: int) -> str:
    return say_many(
        "{metric}: {good} of {trials} trials went well. Their rate lies between {low} and {high}; "
        "{bar} is wanted. About {count} more trial would settle it.",
        "{metric}: {good} of {trials} trials went well. Their rate lies between {low} and {high}; "
        "{bar} is wanted. About {count} more trials would settle it.",
        count,
    )


FORMAT = {
    ConditionState.MET: mark("Tool calls work: they arrive as {format}."),
    ConditionState.NOT_MET: mark("No format of tool calls was measured that works."),
    ConditionState.NO_DATA: mark(
        "Nobody has measured yet whether tool calls work: a full run does it."
    ),
}
CLIENT = {
    ConditionState.MET: mark("An ordinary SDK works with it, whole and streamed."),
    ConditionState.NOT_MET: mark("An ordinary SDK does not work with it: {reasons}."),
    ConditionState.NO_DATA: mark(
        "It was not measured yet whether an ordinary SDK works with it: a full run does it."
    ),
}
TEXT_CLIENT = mark(
    "Calls arrive as text ({format}), which only clients that follow the policy read. Nothing else "
    "would break an ordinary SDK."
)
SEVERAL_FORMATS = mark("Calls arrive in several formats, none of them in at least 80 % of turns.")
FRESH = {
    ConditionState.MET: mark("It was measured not long ago."),
    ConditionState.NOT_MET: mark("What was measured is too old: a run makes it fresh."),
    ConditionState.NO_DATA: mark("Nothing was measured yet."),
}
BASELINE = {
    (BaselineState.PROVISIONAL, BaselineState.PROVISIONAL): mark(
        "It is known, as far as it goes, what is normal."
    ),
    (BaselineState.FROZEN, BaselineState.PROVISIONAL): mark("It is known for good what is normal."),
    (BaselineState.FROZEN, BaselineState.FROZEN): mark("It is known for good what is normal."),
    (BaselineState.NONE, BaselineState.PROVISIONAL): mark(
        "Too few trials were made to know what is normal."
    ),
    (BaselineState.NONE, BaselineState.FROZEN): mark(
        "Too few runs were made to know for good what is normal: it takes {runs} runs and {trials} "
        "trials."
    ),
}
NO_TRIALS = mark("{metric}: no trials; a rate of good ones of at least {bar} is wanted.")
REACHED = mark(
    "{metric}: {good} of {trials} trials went well. Their rate is at least {low}; {bar} is wanted."
)
MISSED = mark(
    "{metric}: {good} of {trials} trials went well. Their rate is at most {high}; {bar} is wanted."
)
TOO_NEAR = mark(
    "{metric}: {good} of {trials} trials went well. Their rate lies between {low} and {high}, too "
    "near to the {bar} that is wanted for more trials to settle it soon."
)
FEW_LIVE = mark(
    "{metric}: {trials} trials at this stage, which is too few to be judged and not asked "
    "for; {least} would be judged."
)
WANTS_LIVE = mark("{metric}: {trials} trials at this stage; wanted: {least}.")
CALM = mark("No incident is open.")
AGE = mark("It has been at this stage for {hours} h; wanted: {wanted} h.")
BUDGET = {
    ConditionState.MET: mark("It goes on being watched: its budget for probing is not spent."),
    ConditionState.NOT_MET: mark("Nobody watches it: its budget for probing is spent for today."),
}
