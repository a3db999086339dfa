"""G0 and Qm as objects: pixels and neighbour pairs, components and the cut edges between them. Knows no method."""
