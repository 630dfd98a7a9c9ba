"""The page for callers says what the resolver does."""

from __future__ import annotations

import json
import re

from dashboard.policy.schemas import EXAMPLE
from dashboard.trust.policies import CHANNEL
from health.known_tools import KNOWN, VERSION
from health.modes import Mode
from health.policy import RISKS_BY_STAGE
from health.risk import Risk
from tests.live import ROOT

PAGE = (ROOT / "docs" / "policy.md").read_text()


def test_the_answer_on_the_page_is_a_real_one() -> None:
    """Field for field as it is resolved, in the same order."""
    (block,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)

    assert json.dumps(json.loads(block)) == json.dumps(EXAMPLE)


def test_every_word_that_a_caller_may_meet_is_explained() -> None:
    """Fields, modes, stages, classes and the channel."""
    words = [*EXAMPLE, *Mode, *RISKS_BY_STAGE, *Risk, CHANNEL, VERSION]

    assert [word for word in words if word not in PAGE] == []


def test_the_agents_whose_tools_are_known_are_named() -> None:
    """Whoever uses one of them need not look into the code."""
    names = {name for agent in KNOWN for name in agent.split(" and ")}

    assert {name for name in names if name not in PAGE} == set()
