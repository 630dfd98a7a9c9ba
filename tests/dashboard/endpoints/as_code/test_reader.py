from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.endpoints.as_code import file_reader
from dashboard.endpoints.as_code.file_errors import MAX_MISTAKES, InvalidFile
from tests.dashboard.endpoints.as_code.builders import STEADY, read_file, read_mistakes

HEAD = "version: 1\nendpoints:\n  a:\n    provider: openai\n    base_url: http://h/v1\n"
VALID = f"{HEAD}    model: m\n"


def test_a_file_declares_every_field_as_stored() -> None:
    """Values have the type of their field, URLs are normalised, absent fields have defaults."""
    text = HEAD + "    model: 3.10\n    ttl: 30m\n    options: {top_p: .5, stop: [no, 12:30]}\n"

    (endpoint,) = read_file(text)

    assert endpoint.slug == "a"
    assert endpoint.values["model"] == "3.10"
    assert endpoint.values["ttl"] == timedelta(minutes=30)
    assert endpoint.values["options"] == {"top_p": 0.5, "stop": ["no", "12:30"]}
    assert (endpoint.values["enabled"], endpoint.values["daily_tokens"]) == (True, None)


def test_endpoints_are_sorted_by_name() -> None:
    """The result does not depend on the order of the file."""
    body = "{provider: openai, base_url: http://h/v1, model: m}"

    endpoints = read_file(f"version: 1\nendpoints:\n  b: {body}\n  a: {body}\n")

    assert [each.slug for each in endpoints] == ["a", "b"]


@pytest.mark.parametrize("text", ["version: 1\nendpoints:\n", "version: 1\nendpoints: {}\n"])
def test_a_file_can_declare_no_endpoint(text: str) -> None:
    """The export of a new installation declares none."""
    assert read_file(text) == []


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
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
        (VALID.replace("  a:", "  A b:"), 3, 3, "cannot be the name"),
        (VALID.replace("  a:", "  new:"), 3, 3, "is a page of its own"),
        (VALID.replace("openai", "opanai"), 4, 15, "Did you mean “openai”?"),
        (VALID.replace("openai", "nobody"), 4, 15, "There is no provider 'nobody'"),
        (VALID + "    dialect: deepsek\n", 7, 14, "Did you mean “deepseek”?"),
        (VALID + "    dialect: acme-v9\n", 7, 14, "There is no dialect"),
        (VALID + "    dialect: minimax_anthropic\n", 7, 14, "does not fit the provider 'openai'"),
        (VALID + "    dialect: [plain]\n", 7, 14, "takes a text, not a list"),
        (VALID + "    chat_template_hash: abc\n", 7, 25, "64 hexadecimal digits"),
        (VALID.replace("http:", "ftp:"), 5, 15, "must begin with http://"),
        (VALID.replace("http://", "http://u:p@"), 5, 15, "must not contain a user name"),
        (VALID.replace(": m\n", ":\n"), 6, 11, "takes a text, not nothing"),
        (VALID.replace(": m\n", ": [m]\n"), 6, 12, "takes a text, not a list"),
        (f"{VALID}    base_uri: x\n", 7, 5, "There is no field “base_uri”. Did you mean"),
        (f"{VALID}    interval: 6h\n", 7, 5, "Did you mean “ttl”?"),
        (f"{VALID}    zzz: 6h\n", 7, 5, "There are provider, base_url, model"),
        (f"{VALID}    ttl: soon\n", 7, 10, "Write a number and a unit"),
        (f"{VALID}    ttl: 1m\n", 7, 10, "Between 5m and 30d"),
        (f"{VALID}    enabled: yes\n", 7, 14, "takes true or false, not “yes”"),
        (f'{VALID}    enabled: "true"\n', 7, 14, "takes true or false"),
        (f'{VALID}    daily_requests: "5"\n', 7, 21, "takes a whole number"),
        (f"{VALID}    daily_requests: 1.5\n", 7, 21, "takes a whole number"),
        (f"{VALID}    daily_requests: 0\n", 7, 21, "greater than or equal to 1"),
        (f"{VALID}    max_concurrency: 65\n", 7, 22, "less than or equal to 64"),
        (f"{VALID}    options: [1]\n", 7, 14, "takes a mapping"),
        (f"{VALID}    options: {{messages: 1}}\n", 7, 14, "is set by the probe"),
        (f"{VALID}    options: {{a: .nan}}\n", 7, 18, "Write a finite one"),
        (f"{VALID}    options: {{a: 1e999}}\n", 7, 18, "Write a finite one"),
        (f'{VALID}    options: {{a: "\\0"}}\n', 7, 14, "NUL"),
        (
            f"{VALID}    model: n\n",
            7,
            5,
            "“model” stands here again; it was already given in line 6",
        ),
        (f"{VALID}  a: {{}}\n", 7, 3, "“a” stands here again; it was already given in line 3"),
        (f"{VALID}    options: {{b: 1, b: 2}}\n", 7, 21, "“b” stands here again"),
        (f"{VALID}    tags: eu\n", 7, 11, "takes a list of words such as [eu, coding], not “eu”"),
        (f"{VALID}    tags: [a b]\n", 7, 11, "“a b” cannot be a tag"),
        (f"{VALID}    price_input: cheap\n", 7, 18, "takes a number such as 0.15"),
        (f"{VALID}    price_input: 0.1234567\n", 7, 18, "no more than 6 decimal places"),
        (f"{VALID}    input_price: 1\n", 7, 5, "Did you mean “price_input”?"),
        (f"{VALID}    api_key: sk-1234\n", 7, 5, "Keys do not stand in files"),
        (f"{VALID}    api_key_env: sk-ab cd\n", 7, 18, "takes the name of a variable"),
        (f"{VALID}    api_key_env: DATABASE_URL\n", 7, 18, "is a secret of Toolgauge itself"),
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
def test_a_mistake_has_its_line_and_column(text: str, line: int, column: int, message: str) -> None:
    """The message has the position that an editor shows."""
    places = [(each.line, each.column) for each in read_mistakes(text) if message in each.message]

    assert places == [(line, column)], [
        f"{e.line}:{e.column} {e.message}" for e in read_mistakes(text)
    ]


def test_all_mistakes_are_reported_in_the_order_of_the_text() -> None:
    """One pass over the file is enough to correct it."""
    text = VALID.replace("openai", "nobody") + "    ttl: soon\n    enabled: 1\n  B: {}\n"

    assert [each.line for each in read_mistakes(text)] == [4, 7, 8, 9, 9]


def test_a_billion_laughs_attack_is_refused_before_it_expands() -> None:
    """Every anchor and alias is a mistake, and none is resolved."""
    lines = ["a0: &a0 [lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]

    mistakes = read_mistakes("\n".join(lines))

    assert {each.message.split()[0] for each in mistakes} >= {"Anchors", "Aliases"}


def test_a_wrong_key_is_not_repeated() -> None:
    """The value of api_key_env may be the key itself."""
    (mistake,) = read_mistakes(f"{VALID}    api_key_env: sk-live-1234\n")

    assert "1234" not in mistake.message


def test_a_hostile_name_is_shortened_and_made_visible() -> None:
    """A message contains no control characters of the file."""
    text = f'{VALID}    "\\e[31m\\u202e{"x" * 900}": 1\n'

    (mistake,) = read_mistakes(text)

    assert "␛[31m⟦U+202E⟧" in mistake.message
    assert len(mistake.message) < 400


def test_the_number_of_reported_mistakes_is_limited() -> None:
    """The mistakes above the limit are only counted."""
    text = "version: 1\nendpoints:\n" + "".join(f"  a{n}: 1\n" for n in range(500))

    with pytest.raises(InvalidFile) as caught:
        read_file(text)

    assert (len(caught.value.mistakes), caught.value.left_out) == (MAX_MISTAKES, 500 - MAX_MISTAKES)


def test_too_many_endpoints_are_refused() -> None:
    """The number is checked before the endpoints are read."""
    text = "version: 1\nendpoints:\n" + "".join(f"  a{n}: 1\n" for n in range(5001))

    (mistake,) = read_mistakes(text)

    assert "More than 5,000 endpoints" in mistake.message


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"a: 1\nb: \xff\n", 2, 4, "not UTF-8"),
        ("a: 1".encode("utf-16"), 1, 1, "not UTF-8"),
        (b"x" * 1_000_001, 1, 1, "larger than"),
    ],
)
def test_invalid_utf_8_has_its_line_and_column(
    data: bytes, line: int, column: int, message: str
) -> None:
    """The position counts the text before the invalid byte."""
    with pytest.raises(InvalidFile) as caught:
        file_reader.decode_file(data)

    (mistake,) = caught.value.mistakes
    assert (mistake.line, mistake.column) == (line, column)
    assert message in mistake.message


def test_a_byte_order_mark_is_dropped() -> None:
    """Editors on Windows write one."""
    assert file_reader.decode_file(b"\xef\xbb\xbf" + STEADY.encode()) == STEADY


def test_a_key_is_read_from_the_named_variable() -> None:
    """The key is not in the representation."""
    text = f"{VALID}    api_key_env: TEAM_KEY\n"

    (endpoint,) = read_file(text, {"TEAM_KEY": "sk-abcdefgh\n"})

    assert endpoint.key is not None
    assert endpoint.key.reveal() == "sk-abcdefgh"
    assert "abcdefgh" not in repr(endpoint)


@pytest.mark.parametrize(
    ("value", "message"), [("", "is not set"), (" ", "is not set"), ("a b", "holds no key")]
)
def test_a_variable_without_a_key_is_a_mistake(value: str, message: str) -> None:
    """Otherwise an apply would create an endpoint that always fails."""
    (mistake,) = read_mistakes(f"{VALID}    api_key_env: TEAM_KEY\n", {"TEAM_KEY": value})

    assert (mistake.line, message in mistake.message) == (7, True)
