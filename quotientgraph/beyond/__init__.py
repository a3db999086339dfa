"""What goes beyond the published method, one idea a module; `quotientgraph.method.optimize` has the hooks for them."""
