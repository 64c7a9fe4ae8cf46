"""What makes the models that ship: a package for each family, and what they share."""
