"""Training of FAIEr as published."""
