"""Reports on results, built once as data, and the renderers that write them."""
