"""The verdict on a caption: is it true to its image, does it say what matters, does it read well."""
