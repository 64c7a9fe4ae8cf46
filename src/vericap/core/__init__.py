"""What every other package stands on: samples, batches, settings, keys of analyses, the metric base. A leaf."""
