"""The published method and nothing else: filling, cut edges, weights, relative scales, and the driver `optimize`."""
