"""Files of the sentence encoder gte-small; vericap reads them from this folder."""
