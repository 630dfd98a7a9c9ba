"""Plotly figures and SVG shapes, built from plain values."""
