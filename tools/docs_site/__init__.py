"""The documentation site: pages made from parsers, docstrings, cards and commands, and checks of what was built."""
