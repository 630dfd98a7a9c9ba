"""What every room uses: permissions, the actor, HTTP, SQL, labels, limits, partitions."""
