"""Training of FAIEr-plus."""
