"""What losses and schedulers cost, by how they are written or chosen."""
