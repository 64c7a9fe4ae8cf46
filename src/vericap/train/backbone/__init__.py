"""Training of the image backbone, whose regions all image metrics read."""
