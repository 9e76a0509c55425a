"""Numbers printed in papers: exact metrics that they allow, and tables that contradict."""
