"""Arrays in, arrays out: the numerical kernels, without validation."""
