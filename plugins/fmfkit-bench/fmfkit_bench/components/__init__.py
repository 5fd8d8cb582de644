"""What losses, regularizers and schedulers cost, by how they are written or chosen."""
