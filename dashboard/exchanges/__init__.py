"""The exchanges behind an attempt, from stored evidence to what a page or a download shows."""
