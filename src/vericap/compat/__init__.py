"""Other tools' shapes, so that existing scripts switch by changing an import."""
