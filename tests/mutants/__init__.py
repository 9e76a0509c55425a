SETUP = "setup "  # begins the context of fixtures, which the tests of a file may share
