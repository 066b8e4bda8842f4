"""One HTML file that is the page of the web UI and the answers that it will ask for."""
