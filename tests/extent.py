"""How much the tests repeat. Everything that the gate reduces is listed here, and only here.

`./run test` is the gate. `./run test --all` repeats more, for the same promises: run it after a
change of what the fields below name, and before a release.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Extent:
    """Repetitions and sizes of the tests that can do more or less."""

    # Processes killed in test_chaos.py: workers, leases, runs, the finish of a run.
    kills: int
    # Characters of one text in probes/parsers/test_hostile.py: parsers and their buffers.
    hostile_characters: int
    # Characters of the longer text there, of which the shorter is a tenth: time must be linear.
    hostile_growth: int
    # Places at which each text of tests/probes/parsers is cut in two, besides every character.
    cuts: int
    # Characters between two places where a hostile call is cut off in test_truncated_calls.py.
    prefix_step: int
    # Whether test_truth_matrix.py measures also faulty vendors over HTTP: transport, simulators.
    faults_over_http: bool
    # Runs per simulated vendor in test_coverage.py: intervals of measured rates.
    coverage_runs: int
    # Examples per test that Hypothesis draws, where the test names no number.
    examples: int
    # Examples per format and promise in probes/parsers/test_fuzz.py: any part of the parsers.
    fuzz_examples: int
    # Sequences of steps in test_run_machine.py: claims, leases, budgets, due times.
    run_machine_examples: int
    # Stories in test_exactly_once.py: observations, batches, rollups, partitions.
    store_examples: int
    # Examples per operation in test_schemathesis.py: the API and its document.
    api_examples: int


GATE = Extent(
    kills=26,
    hostile_characters=2_000_000,
    hostile_growth=24_000,
    cuts=12,
    prefix_step=4,
    faults_over_http=False,
    coverage_runs=8,
    examples=30,
    fuzz_examples=5,
    run_machine_examples=8,
    store_examples=20,
    api_examples=2,
)
ALL = Extent(
    kills=104,
    hostile_characters=10_000_000,
    hostile_growth=150_000,
    cuts=100_000,
    prefix_step=1,
    faults_over_http=True,
    coverage_runs=24,
    examples=100,
    fuzz_examples=50,
    run_machine_examples=50,
    store_examples=50,
    api_examples=20,
)

EXTENT = ALL if os.environ.get("TEST_EXTENT") == "all" else GATE
