"""Reads a list of texts from standard input; prints how many tokens of o200k they have together."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import sys

import bpe_openai


def main() -> None:
    encoding = bpe_openai.get_encoding("o200k_base")
    print(json.dumps(sum(len(encoding.encode_ordinary(text)) for text in json.load(sys.stdin))))


if __name__ == "__main__":
    main()
