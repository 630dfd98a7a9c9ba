from __future__ import annotations

import re
from pathlib import Path

from dashboard.endpoints.as_code.apply_plan import Action, Effect
from dashboard.endpoints.as_code.fields import FIELDS, KEY_FIELD
from tests.dashboard.endpoints.as_code.builders import read_file

PAGE = (Path(__file__).parents[4] / "docs/endpoints-as-code.md").read_text()


def test_the_documented_example_is_a_valid_file() -> None:
    """The example can be copied as it is."""
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)

    endpoints = read_file(example, {"TEAM_INFERENCE_KEY": "sk-abcdefgh"})

    assert [each.slug for each in endpoints] == ["claude", "vllm-qwen3-32b"]


def test_every_field_action_and_effect_is_documented() -> None:
    """A new one must be documented."""
    codes = {*FIELDS, KEY_FIELD, *Action, *Effect}

    assert [code for code in sorted(codes) if f"`{code}`" not in PAGE] == []
