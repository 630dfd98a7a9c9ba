#!/usr/bin/env python
"""Django's command line."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    from dashboard.core import actor_context

    with actor_context.acting_as(actor_context.command_actor()):
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
