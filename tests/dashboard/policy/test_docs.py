"""docs/policy.md matches what the resolver does."""

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


def test_the_example_on_the_page_is_resolved() -> None:
    """It equals the resolved example field by field, in the same order."""
    (block,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)

    assert json.dumps(json.loads(block)) == json.dumps(EXAMPLE)


def test_every_term_of_a_policy_is_explained() -> None:
    """The page names all fields, modes, stages, classes and the channel."""
    terms = [*EXAMPLE, *Mode, *RISKS_BY_STAGE, *Risk, CHANNEL, VERSION]

    assert [term for term in terms if term not in PAGE] == []


def test_the_agents_whose_tools_are_known_are_named() -> None:
    """Their users do not have to read the code."""
    names = {name for agent in KNOWN for name in agent.split(" and ")}

    assert {name for name in names if name not in PAGE} == set()
