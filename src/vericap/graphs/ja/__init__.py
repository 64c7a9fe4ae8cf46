"""Japanese scene graphs: predicate-argument structure, the rules on it, matching (JaSPICE)."""
