"""Every sentence of the paper with a number or an order in it, measured."""
