from __future__ import annotations

import re
from pathlib import Path

from dashboard.endpoints.as_code.apply_plan import Action, Effect
from dashboard.endpoints.as_code.fields import FIELDS, KEY_FIELD
from tests.dashboard.endpoints.as_code.builders import declared

PAGE = (Path(__file__).parents[4] / "docs/endpoints-as-code.md").read_text()


def test_the_example_of_the_documentation_is_a_file() -> None:
    """Whoever copies it has something that works."""
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)

    found = declared(example, {"TEAM_INFERENCE_KEY": "sk-abcdefgh"})

    assert [each.slug for each in found] == ["claude", "vllm-qwen3-32b"]


def test_every_field_action_and_effect_is_documented() -> None:
    """Also the one that is added next."""
    words = {*FIELDS, KEY_FIELD, *Action, *Effect}

    assert [word for word in sorted(words) if f"`{word}`" not in PAGE] == []
