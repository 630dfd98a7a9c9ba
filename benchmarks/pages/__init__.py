"""The cost of pages with few and with very many rows behind them."""
