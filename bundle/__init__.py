"""Seal, verify, report, and put on a card what was found. Host only: documents and pure functions."""
