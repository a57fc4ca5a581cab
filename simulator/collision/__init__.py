"""What meets what, when and where: shapes as the kernels read them, distances, times of impact, contact patches."""
