from __future__ import annotations

import pytest

from probes.adapters.base import ErrorBody
from probes.classify import ErrorClass, classify


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (400, "registry/llama:1b does not support tools", ErrorClass.NO_TOOLS),
        (404, "No endpoints found that support tool use.", ErrorClass.NO_TOOLS),
        (
            400,
            '"auto" tool choice requires --enable-auto-tool-choice and a parser',
            ErrorClass.NO_TOOLS,
        ),
        (400, "Invalid schema for function 'f': None", ErrorClass.SCHEMA_REFUSED),
        (400, "unknown variant `custom`, expected `function`", ErrorClass.SCHEMA_REFUSED),
        (400, "deepseek-reasoner does not support this tool_choice", ErrorClass.FORCED_CHOICE),
        (400, "Unknown parameter: 'x'.", ErrorClass.PARAM_UNKNOWN),
        (429, "slow down", ErrorClass.TRANSIENT),
        (502, "does not support tools", ErrorClass.TRANSIENT),
        (400, "Model is loading", ErrorClass.TRANSIENT),
        (400, "expected function, unknown variant", None),
        (400, "Something else.", None),
    ],
)
def test_error_texts_have_a_class(status: int, message: str, expected: ErrorClass | None) -> None:
    """The rows of the classifier match whatever the case, and nothing else does."""
    assert classify(status, ErrorBody(message)) is expected


def test_a_code_alone_is_enough() -> None:
    """Some vendors word the message freely and keep the code."""
    assert classify(400, ErrorBody("参数有误", "1210")) is ErrorClass.PARAM_UNKNOWN
