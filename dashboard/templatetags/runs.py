"""Template tags of runs: figures, labels, addresses, marked text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dashboard.core.http import join_queries
from dashboard.core.safe_text import TextPiece
from dashboard.models import Run
from dashboard.runs.failure_reasons import FailureReason, translate_reason
from dashboard.runs.table import TRIGGER_LABELS

register = template.Library()


@register.simple_tag
def passed_of_trials(run: Run) -> str:
    text = _("{passed} of {trials}")
    return text.format(passed=run.passed, trials=run.passed + run.failed)


@register.simple_tag
def void_of_attempts(run: Run) -> str:
    text = _("{void} of {attempts}")
    return text.format(void=run.void, attempts=run.passed + run.failed + run.void)


@register.filter
def total_tokens(run: Run) -> int:
    return run.input_tokens + run.output_tokens


@register.filter
def trigger_label(trigger: str) -> str:
    return str(TRIGGER_LABELS.get(trigger, trigger))


@register.filter
def failure_reason(run: Run) -> FailureReason:
    return translate_reason(run.reason)


@register.simple_tag
def runs_address(other_parameters: Sequence[tuple[str, str]], runs_query: str) -> str:
    """The query string of the endpoint page: its other parameters, then those of the runs."""
    return join_queries(other_parameters, runs_query)


@register.simple_tag
def marked_text(pieces: Iterable[TextPiece], element: str) -> SafeString:
    """Wrap the marked pieces in `element`. A tag, since `<pre>` shows a template's white space."""
    return format_html_join("", "{}", ((_mark_piece(piece, element),) for piece in pieces))


def _mark_piece(piece: TextPiece, element: str) -> str:
    if not piece.mark:
        return piece.text
    target = format_html(' id="{}"', piece.mark) if piece.is_first else ""
    return format_html("<{0}{1}>{2}</{0}>", element, target, piece.text)
