"""Sets up and runs the whole product on one machine: real servers, one supervisor, one folder."""

from __future__ import annotations
