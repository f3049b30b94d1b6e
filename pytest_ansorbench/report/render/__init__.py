"""Reports as text, in every format there is: a module each, and its entry in `formats`."""
