from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.endpoints.as_code import file_reader
from dashboard.endpoints.as_code.file_errors import MOST, Unreadable
from tests.dashboard.endpoints.as_code.builders import STEADY, declared, wrong

HEAD = "version: 1\nendpoints:\n  a:\n    provider: openai\n    base_url: http://h/v1\n"
GOOD = f"{HEAD}    model: m\n"


def test_a_file_gives_every_field_as_it_is_stored() -> None:
    """Values have the type of their field, the URL its normal form, what is absent its default."""
    text = HEAD + "    model: 3.10\n    ttl: 30m\n    options: {top_p: .5, stop: [no, 12:30]}\n"

    (found,) = declared(text)

    assert found.slug == "a"
    assert found.values["model"] == "3.10"
    assert found.values["ttl"] == timedelta(minutes=30)
    assert found.values["options"] == {"top_p": 0.5, "stop": ["no", "12:30"]}
    assert (found.values["enabled"], found.values["daily_tokens"]) == (True, None)


def test_endpoints_come_by_name() -> None:
    """The order of the file is the author's; ours does not depend on it."""
    body = "{provider: openai, base_url: http://h/v1, model: m}"

    found = declared(f"version: 1\nendpoints:\n  b: {body}\n  a: {body}\n")

    assert [each.slug for each in found] == ["a", "b"]


@pytest.mark.parametrize("text", ["version: 1\nendpoints:\n", "version: 1\nendpoints: {}\n"])
def test_a_file_may_name_no_endpoint(text: str) -> None:
    """As the export of a fresh installation does."""
    assert declared(text) == []


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("", 1, 1, "The file is empty"),
        ("# only a comment\n", 1, 1, "The file is empty"),
        ("- a\n", 1, 1, "The file is a mapping"),
        ("endpoints: {}\n", 1, 1, "“version: 1” is missing"),
        ("version: 1\n", 1, 1, "“endpoints:” is missing"),
        ("version: 2\nendpoints: {}\n", 1, 10, "reads version 1"),
        ("version: 1\nendpoints: []\n", 2, 12, "takes a mapping from names"),
        ("version: 1\nendpoint: {}\nendpoints: {}\n", 2, 1, "Did you mean “endpoints”?"),
        ("version: 1\nendpoints:\n  a: 5\n", 3, 6, "takes its fields"),
        ("version: 1\nendpoints:\n  a: {}\n", 3, 3, "lacks provider, base_url, model"),
        (GOOD.replace("  a:", "  A b:"), 3, 3, "cannot be the name"),
        (GOOD.replace("  a:", "  new:"), 3, 3, "is a page of its own"),
        (GOOD.replace("openai", "opanai"), 4, 15, "Did you mean “openai”?"),
        (GOOD.replace("openai", "nobody"), 4, 15, "There is no provider 'nobody'"),
        (GOOD.replace("http:", "ftp:"), 5, 15, "must begin with http://"),
        (GOOD.replace("http://", "http://u:p@"), 5, 15, "must not contain a user name"),
        (GOOD.replace(": m\n", ":\n"), 6, 11, "takes a text, not nothing"),
        (GOOD.replace(": m\n", ": [m]\n"), 6, 12, "takes a text, not a list"),
        (f"{GOOD}    base_uri: x\n", 7, 5, "There is no field “base_uri”. Did you mean"),
        (f"{GOOD}    interval: 6h\n", 7, 5, "Did you mean “ttl”?"),
        (f"{GOOD}    zzz: 6h\n", 7, 5, "There are provider, base_url, model"),
        (f"{GOOD}    ttl: soon\n", 7, 10, "Write a number and a unit"),
        (f"{GOOD}    ttl: 1m\n", 7, 10, "Between 5m and 30d"),
        (f"{GOOD}    enabled: yes\n", 7, 14, "takes true or false, not “yes”"),
        (f'{GOOD}    enabled: "true"\n', 7, 14, "takes true or false"),
        (f'{GOOD}    daily_requests: "5"\n', 7, 21, "takes a whole number"),
        (f"{GOOD}    daily_requests: 1.5\n", 7, 21, "takes a whole number"),
        (f"{GOOD}    daily_requests: 0\n", 7, 21, "greater than or equal to 1"),
        (f"{GOOD}    max_concurrency: 65\n", 7, 22, "less than or equal to 64"),
        (f"{GOOD}    options: [1]\n", 7, 14, "takes a mapping"),
        (f"{GOOD}    options: {{messages: 1}}\n", 7, 14, "is set by the probe"),
        (f"{GOOD}    options: {{a: .nan}}\n", 7, 18, "Write a finite one"),
        (f"{GOOD}    options: {{a: 1e999}}\n", 7, 18, "Write a finite one"),
        (f'{GOOD}    options: {{a: "\\0"}}\n', 7, 14, "NUL"),
        (
            f"{GOOD}    model: n\n",
            7,
            5,
            "“model” stands here again; it was already given in line 6",
        ),
        (f"{GOOD}  a: {{}}\n", 7, 3, "“a” stands here again; it was already given in line 3"),
        (f"{GOOD}    options: {{b: 1, b: 2}}\n", 7, 21, "“b” stands here again"),
        (f"{GOOD}    tags: eu\n", 7, 11, "takes a list of words such as [eu, coding], not “eu”"),
        (f"{GOOD}    tags: [a b]\n", 7, 11, "“a b” cannot be a tag"),
        (f"{GOOD}    price_input: cheap\n", 7, 18, "takes a number such as 0.15"),
        (f"{GOOD}    price_input: 0.1234567\n", 7, 18, "no more than 6 decimal places"),
        (f"{GOOD}    input_price: 1\n", 7, 5, "Did you mean “price_input”?"),
        (f"{GOOD}    api_key: sk-1234\n", 7, 5, "Keys do not stand in files"),
        (f"{GOOD}    api_key_env: sk-ab cd\n", 7, 18, "takes the name of a variable"),
        (f"{GOOD}    api_key_env: DATABASE_URL\n", 7, 18, "is a secret of Toolgauge itself"),
        ("a: &x 1\n", 1, 4, "Anchors"),
        ("a: !!python/object/apply:os.system [id]\n", 1, 4, "Tags"),
        ("a: 1\n---\nb: 1\n", 2, 1, "A second document"),
        ("? [a]\n: 1\n", 1, 3, "A name is wanted here"),
        ("a: [1\nb: 2\n", 2, 2, "This is not YAML"),
        ("a:\n\t- 1\n", 2, 1, "Indent with spaces"),
        ("a: 'x\n", 2, 1, "This is not YAML"),
        ("a: x\0y\n", 1, 5, "U+0000 is not allowed"),
        ("a:\n  - \x1b[31m\n", 2, 5, "U+001B is not allowed"),
        ("[" * 300_000, 1, 25, "nested too deeply"),
        ("a: {" * 100_000, 1, 96, "nested too deeply"),
        ("#" * 1_000_001, 1, 1, "larger than 1,000,000 bytes"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, line: int, column: int, says: str) -> None:
    """Line and column where an editor would show it, and what to do."""
    found = [(each.line, each.column) for each in wrong(text) if says in each.message]

    assert found == [(line, column)], [f"{e.line}:{e.column} {e.message}" for e in wrong(text)]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_text() -> None:
    """Who mends a file wants to go over it once."""
    text = GOOD.replace("openai", "nobody") + "    ttl: soon\n    enabled: 1\n  B: {}\n"

    assert [each.line for each in wrong(text)] == [4, 7, 8, 9, 9]


def test_a_billion_laughs_are_refused_before_they_grow() -> None:
    """Every anchor and alias is a mistake, and none is followed."""
    lines = ["a0: &a0 [lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]

    found = wrong("\n".join(lines))

    assert {each.message.split()[0] for each in found} >= {"Anchors", "Aliases"}


def test_a_wrong_key_is_not_repeated() -> None:
    """What stands beside api_key_env may be the key itself."""
    (mistake,) = wrong(f"{GOOD}    api_key_env: sk-live-1234\n")

    assert "1234" not in mistake.message


def test_a_hostile_name_is_bounded_and_made_visible() -> None:
    """Nothing of a file hides or acts in a message."""
    text = f'{GOOD}    "\\e[31m\\u202e{"x" * 900}": 1\n'

    (mistake,) = wrong(text)

    assert "␛[31m⟦U+202E⟧" in mistake.message
    assert len(mistake.message) < 400


def test_a_file_that_is_wrong_everywhere_is_told_in_part() -> None:
    """A file of another kind does not make a page of a million lines."""
    text = "version: 1\nendpoints:\n" + "".join(f"  a{n}: 1\n" for n in range(500))

    with pytest.raises(Unreadable) as caught:
        declared(text)

    assert (len(caught.value.mistakes), caught.value.left_out) == (MOST, 500 - MOST)


def test_more_endpoints_than_anybody_has_are_refused() -> None:
    """Bounded before each is looked at."""
    text = "version: 1\nendpoints:\n" + "".join(f"  a{n}: 1\n" for n in range(5001))

    (mistake,) = wrong(text)

    assert "More than 5,000 endpoints" in mistake.message


@pytest.mark.parametrize(
    ("data", "line", "column", "says"),
    [
        (b"a: 1\nb: \xff\n", 2, 4, "not UTF-8"),
        ("a: 1".encode("utf-16"), 1, 1, "not UTF-8"),
        (b"x" * 1_000_001, 1, 1, "larger than"),
    ],
)
def test_bytes_that_are_no_text_are_told_with_their_place(
    data: bytes, line: int, column: int, says: str
) -> None:
    """The line is counted in what could be read."""
    with pytest.raises(Unreadable) as caught:
        file_reader.decode(data)

    (mistake,) = caught.value.mistakes
    assert (mistake.line, mistake.column) == (line, column)
    assert says in mistake.message


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    """Editors of another system write one."""
    assert file_reader.decode(b"\xef\xbb\xbf" + STEADY.encode()) == STEADY


def test_a_key_is_read_from_the_variable_that_is_named() -> None:
    """And shows itself nowhere."""
    text = f"{GOOD}    api_key_env: TEAM_KEY\n"

    (found,) = declared(text, {"TEAM_KEY": "sk-abcdefgh\n"})

    assert found.key is not None
    assert found.key.reveal() == "sk-abcdefgh"
    assert "abcdefgh" not in repr(found)


@pytest.mark.parametrize(
    ("held", "says"), [("", "is not set"), (" ", "is not set"), ("a b", "holds no key")]
)
def test_a_variable_without_a_key_is_a_mistake(held: str, says: str) -> None:
    """Applying without the key would leave an endpoint that only fails."""
    (mistake,) = wrong(f"{GOOD}    api_key_env: TEAM_KEY\n", {"TEAM_KEY": held})

    assert (mistake.line, says in mistake.message) == (7, True)
