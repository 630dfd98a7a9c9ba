"""Fault switches in the URL of a vendor."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from simulators.faults.fault_registry import FAMILIES, FAULTS
from simulators.faults.fault_schedule import FaultSchedule
from simulators.faults.fault_switch import SwitchError, read_switches
from simulators.vendors.vendor_registry import SPECS

REQUEST: dict[str, Any] = {
    "model": "sim-steady",
    "messages": [{"role": "user", "content": "Call paint.\ncolour: red"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "paint",
                "parameters": {"properties": {"colour": {"enum": ["red", "blue"]}}},
            },
        }
    ],
}


def ask(url: str, number: int = 0) -> Any:
    messages = [{"role": "user", "content": f"Call paint.\ncolour: red\n({number})"}]
    body = {**REQUEST, "messages": messages}
    return httpx.post(f"{url}/open/v1/chat/completions", json=body, trust_env=False)


def classify_answer(answer: Any) -> str:
    message = answer.json()["choices"][0]["message"]
    return "called" if message.get("tool_calls") else "leaked"


def test_switches_are_read_with_their_options() -> None:
    """Every option of a switch is parsed."""
    text = "leak-hermes,p=0.3,seed=7,from=60,until=600,ramp=10,every=100,for=20+rate-limit,value=9"
    leak, limit = read_switches(text, FAULTS)

    assert leak.fault is FAULTS["leak-hermes"]
    assert leak.schedule == FaultSchedule(0.3, 7, 60, 600, 10, 100, 20)
    assert limit.fault is FAULTS["rate-limit"]
    assert limit.schedule == FaultSchedule()


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("no-such-fault", "There is no fault 'no-such-fault'"),
        ("prose,q=1", "There is no option 'q'"),
        ("prose,p=2", "'2' is no good p"),
        ("prose,p=often", "'often' is no good p"),
        ("prose,from=-1", "'-1' is no good from"),
        ("prose,p=nan", "'nan' is no good p"),
        ("prose,value=1", "prose takes no value"),
    ],
)
def test_an_invalid_switch_gets_an_explanation(vendor_url: str, text: str, refusal: str) -> None:
    """A typo must not look like a healthy vendor."""
    with pytest.raises(SwitchError, match=refusal):
        read_switches(text, FAULTS)
    answer = ask(f"{vendor_url}/with/{text}")

    assert answer.status_code == 404
    assert refusal in answer.json()["error"]["message"]


def test_a_fault_acts_as_often_as_its_probability_says(vendor_url: str) -> None:
    """Within four standard errors of 300 different questions."""
    url = f"{vendor_url}/with/leak-hermes,p=0.3,seed=11"
    kinds = Counter(classify_answer(ask(url, number)) for number in range(300))

    assert kinds["leaked"] / 300 == pytest.approx(0.3, abs=0.11)


def test_faults_do_not_depend_on_the_order_of_requests(vendor_url: str) -> None:
    """Concurrent requests get the same answers as sequential ones."""
    forward = {
        n: classify_answer(ask(f"{vendor_url}/with/leak-hermes,p=0.5,seed=1", n)) for n in range(40)
    }
    # The same faults under another URL have counted none of the requests yet.
    url = f"{vendor_url}/with/leak-hermes,p=0.50,seed=1"
    backward = {number: classify_answer(ask(url, number)) for number in reversed(range(40))}

    assert forward == backward
    assert set(forward.values()) == {"called", "leaked"}


def test_a_repeated_request_is_a_new_trial(vendor_url: str) -> None:
    """A repeated request is a new trial."""
    url = f"{vendor_url}/with/leak-hermes,p=0.5,seed=3"

    assert {classify_answer(ask(url)) for _ in range(30)} == {"called", "leaked"}


def test_faults_can_be_combined(vendor_url: str) -> None:
    """Two switches act on the same answer."""
    answer = ask(f"{vendor_url}/with/leak-hermes+new-echo")

    assert classify_answer(answer) == "leaked"
    assert answer.json()["model"] == "sim-other-0731"


def test_a_call_is_changed_before_it_leaks(vendor_url: str) -> None:
    """Leaks act last whatever the order of the switches, because a leaked call is text."""
    answer = ask(f"{vendor_url}/with/leak-hermes+wrong-enum")

    assert classify_answer(answer) == "leaked"
    assert '"colour": "red"' not in answer.json()["choices"][0]["message"]["content"]


def test_names_of_faults_and_vendors_are_unique() -> None:
    """A second entry of the same name would silently replace the first."""
    names = [fault.name for family in FAMILIES for fault in family.FAULTS]
    assert len(names) == len(set(names)) == len(FAULTS)
    assert len({spec.name for spec in SPECS}) == len({spec.mount for spec in SPECS}) == len(SPECS)


def test_faults_do_not_affect_other_formats(vendor_url: str) -> None:
    """A fault of Chat streams does not affect Gemini or the truth about it."""
    truth = httpx.get(f"{vendor_url}/with/lost-tail/_truth/gemini", trust_env=False).json()

    assert truth["capabilities"]["supports_streaming_tool_use"] is True


def test_every_fault_occurs_in_a_test() -> None:
    """Every fault's name occurs in a test of this folder."""
    folder = Path(__file__).parent
    tests = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))

    assert [name for name in FAULTS if name not in tests] == []
