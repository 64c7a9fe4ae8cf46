"""Training of the fluency model: good sentences against errors made from them."""
