"""The simulated vendors. A new one is an entry in one of these lists."""

from __future__ import annotations

from simulators.vendors.engines import ENGINES
from simulators.vendors.hosted import HOSTED
from simulators.vendors.open_models import OPEN_MODELS
from simulators.vendors.spec import Spec

SPECS: tuple[Spec, ...] = (*HOSTED, *OPEN_MODELS, *ENGINES)
