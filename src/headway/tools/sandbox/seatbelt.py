"""The profile of macOS's `sandbox-exec`, from what a command may use. Pure. The last rule that fits decides."""

from __future__ import annotations

from collections.abc import Iterable

from headway.tools.sandbox.places import Places

_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/fd")


def seatbelt_profile(places: Places, *, temporary: str, network: bool) -> str:
    """Return the rules under which a command runs; `temporary` is its folder for temporary files."""
    lines = ["(version 1)", "(allow default)"]
    lines += [] if network else ["(deny network*)"]
    lines += ["(deny file-write*)", *_rules("deny file-read*", places.private)]
    lines += _rules("allow file-read-metadata", (places.home,))
    layers = [(path, "allow file-read*", "deny file-write*") for path in places.readable]
    layers += [(path, "allow file-read*", "allow file-write*") for path in (*places.writable, temporary)]
    layers += [(path, "deny file-read*", "deny file-write*") for path in (*places.hidden_folders, *places.hidden_files)]
    layers += [(path, "deny file-write*", "allow file-read*") for path in places.missing]
    for path, *rules in sorted(layers, key=lambda layer: layer[0].count("/")):
        for rule in rules:
            lines += _rules(rule, (path,))
    lines += _rules("allow file-write*", _DEVICES)
    # A folder that holds what is protected cannot be moved away.
    kept = (*places.hidden_folders, *places.writable)
    lines += [f"(deny file-write-unlink (literal {_quote(path)}))" for path in kept]
    lines += [f"(deny file-write* (literal {_quote(path)}))" for path in places.forbidden]
    return "\n".join([*lines, ""])


def _rules(rule: str, paths: Iterable[str]) -> list[str]:
    return [f"({rule} (subpath {_quote(path)}))" for path in paths]


def _quote(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
