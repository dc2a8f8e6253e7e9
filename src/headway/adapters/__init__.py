"""Headway inside agents that run on another framework: a module for each, imported only by whoever uses it."""
