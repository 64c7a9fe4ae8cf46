"""Training of SCAN, behind REO and TIGEr."""
