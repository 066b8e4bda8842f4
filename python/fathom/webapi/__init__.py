"""What the web UI asks, and the page it gets: answers, HTTP, tiles, the report in one file."""
