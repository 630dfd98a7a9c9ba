"""What happens when processes, servers and networks break: real ones, broken on purpose."""
