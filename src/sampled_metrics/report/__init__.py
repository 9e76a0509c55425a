"""Tables, figures, the scorecard and the page: numbers of the study as files for people."""
