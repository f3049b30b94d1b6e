"""Networks as lists of layers, one file a family; `to_relax` makes TVM's programs of them."""
