from __future__ import annotations

import hashlib

import pytest

from probes.adapters import ADAPTERS, adapter_for
from probes.errors import TargetError
from probes.secret import Secret
from probes.target import (
    ProfileKey,
    Provider,
    Target,
    check_base_url,
    check_key,
    check_options,
    origin,
)


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://API.Example.com/v1/", "https://api.example.com/v1"),
        ("  HTTPS://example.com  ", "https://example.com"),
        ("https://example.com:443/v1", "https://example.com/v1"),
        ("http://example.com:8080/v1//", "http://example.com:8080/v1"),
        ("http://bücher.example/v1", "http://xn--bcher-kva.example/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("http://model_server:8000/V1", "http://model_server:8000/V1"),
    ],
)
def test_a_base_url_has_one_normal_form(url: str, normal: str) -> None:
    """Spellings of the same address become equal, and the normal form is stable."""
    assert check_base_url(url) == normal
    assert check_base_url(normal) == normal


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "missing"),
        ("example.com/v1", "http://"),
        ("ftp://example.com", "http://"),
        ("file:///etc/passwd", "http://"),
        ("https:///v1", "no host"),
        ("https://me:hunter2@example.com", "user name or password"),
        ("https://example.com/v1?key=1", "query"),
        ("https://example.com/v1#top", "fragment"),
        ("https://example.com:0/v1", "port"),
        ("https://example.com:99999/v1", "port"),
        ("https://example.com:http/v1", "port"),
        ("https://exam ple.com", "spaces"),
        ("https://example.com/\nv1", "control"),
        ("https://example.com\\@evil.test", "backslash"),
        ("https://" + "a" * 2048, "longer"),
        ("http://2130706433/v1", "not an IP address"),
        ("http://0x7f.1/v1", "not an IP address"),
        ("http://[fe80::zz]/v1", "not"),
        ("http://-bad-.example/", "host name"),
    ],
)
def test_a_bad_base_url_is_refused_with_a_sentence(url: str, sentence: str) -> None:
    """The message says what is wrong, and does not repeat a password from the URL."""
    with pytest.raises(TargetError, match=sentence) as caught:
        check_base_url(url)

    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://Example.com/v1", "https://example.com:443"),
        ("http://example.com/v1", "http://example.com:80"),
        ("http://[::1]:8000/v1", "http://[::1]:8000"),
    ],
)
def test_an_origin_names_its_port(url: str, expected: str) -> None:
    """A credential is bound to scheme, host and port, whatever the path."""
    assert origin(url) == expected


def test_fields_of_a_profile_key_do_not_run_into_each_other() -> None:
    """Moving a character from one field to the next gives another digest."""
    key = ProfileKey("openai", "m", "https://e.test", "")
    data = b"\0\0\0\6openai\0\0\0\1m\0\0\0\x0ehttps://e.test\0\0\0\0"

    assert key.digest() == hashlib.sha256(data).digest()
    assert ProfileKey("openaim", "", "https://e.test").digest() != key.digest()


def test_a_target_normalises_what_its_key_is_made_of() -> None:
    """Two spellings of one endpoint share a profile."""
    one = Target(Provider.OPENAI, "https://E.test/v1/", "m")
    other = Target(Provider.OPENAI, "https://e.test:443/v1", "m")

    assert one.profile_key("t") == other.profile_key("t")
    assert one.profile_key("t") == ProfileKey("openai", "m", "https://e.test/v1", "t")


@pytest.mark.parametrize("name", ["model", "messages", "tools", "stream"])
def test_options_may_not_replace_the_question(name: str) -> None:
    """An option that a probe sets itself is refused by name."""
    with pytest.raises(TargetError, match=name):
        Target(Provider.OPENAI, "https://e.test", "m", options={name: 1})


def test_options_must_be_json() -> None:
    """Options that no request body can carry are refused before a run."""
    with pytest.raises(TargetError, match="JSON"):
        check_options({"temperature": float("nan")})


def test_a_key_that_no_header_can_carry_is_refused() -> None:
    """Inner line breaks and non-ASCII letters are refused; surrounding blanks are removed."""
    assert check_key(" sk-1234 \n") == Secret("sk-1234")
    with pytest.raises(TargetError, match="header"):
        check_key("sk-12\n34")
    with pytest.raises(TargetError, match="header"):
        check_key("sk-ключ")


def test_every_provider_has_an_adapter() -> None:
    """Every provider can be probed."""
    assert set(ADAPTERS) == set(Provider)
    assert adapter_for(Provider.DEEPSEEK).format == "openai"


def test_a_declared_template_is_part_of_the_key_until_one_is_measured() -> None:
    """What the endpoint shows wins over what an operator says about it."""
    declared, measured = "A" * 64, "b" * 64
    target = Target(Provider.OPENAI, "https://e.test/v1", "m", chat_template_hash=declared)

    assert target.profile_key().chat_template_hash == "a" * 64
    assert target.profile_key(measured).chat_template_hash == measured
    assert Target(Provider.OPENAI, "https://e.test/v1", "m").profile_key().chat_template_hash == ""


@pytest.mark.parametrize("text", ["a" * 63, "a" * 65, "g" * 64, "{{ bos }}", "a" * 64 + "\nb"])
def test_a_template_hash_is_a_sha256(text: str) -> None:
    """The template itself is no hash of it."""
    with pytest.raises(TargetError, match="64 hexadecimal digits"):
        Target(Provider.OPENAI, "https://e.test/v1", "m", chat_template_hash=text)
