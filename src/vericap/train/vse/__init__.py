"""Training of the image-sentence encoder `vse` over a finished backbone."""
