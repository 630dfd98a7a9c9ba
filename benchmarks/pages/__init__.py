"""What the pages cost with few and with very many rows behind them."""
