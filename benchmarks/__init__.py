"""How fast is it, honestly? Speed is only reported for results proved correct (docs/concepts/measuring.md)."""
