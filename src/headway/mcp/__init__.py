"""Headway's list for any agent that speaks the Model Context Protocol: `server.py` serves it, `tools.py` are its tools.

A surface: everything it does goes through `Session`. The SDK is loaded by `server.py` alone.
"""
