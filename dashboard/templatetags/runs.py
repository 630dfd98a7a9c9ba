"""Figures of a run, and addresses that keep what else a page asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.core.http import join_queries
from dashboard.core.safe_text import TextPiece
from dashboard.models import Run
from dashboard.runs.failure_reasons import Reason, told
from dashboard.runs.table import TRIGGER_WORDS

register = template.Library()


@register.simple_tag
def passed_of(run: Run) -> str:
    text = _("{passed} of {trials}")
    return text.format(passed=run.passed, trials=run.passed + run.failed)


@register.simple_tag
def void_of(run: Run) -> str:
    text = _("{void} of {attempts}")
    return text.format(void=run.void, attempts=run.passed + run.failed + run.void)


@register.filter
def tokens(run: Run) -> int:
    return run.input_tokens + run.output_tokens


@register.filter
def trigger_words(trigger: str) -> str:
    return str(TRIGGER_WORDS.get(trigger, trigger))


@register.filter
def reason_of(run: Run) -> Reason:
    return told(run.reason)


@register.simple_tag
def address(kept: Sequence[tuple[str, str]], runs_query: str) -> str:
    """The query string of the endpoint's page: what it shows besides runs, then the runs."""
    return join_queries(kept, runs_query)


@register.simple_tag
def marked_text(pieces: Iterable[TextPiece], element: str) -> SafeString:
    """Put the marked pieces into `element`. For `<pre>`, where spaces of a template would show."""
    return format_html_join("", "{}", ((_marked(piece, element),) for piece in pieces))


def _marked(piece: TextPiece, element: str) -> str:
    if not piece.mark:
        return piece.text
    target = format_html(' id="{}"', piece.mark) if piece.is_first else ""
    return format_html("<{0}{1}>{2}</{0}>", element, target, piece.text)
