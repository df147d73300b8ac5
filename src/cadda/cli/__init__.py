"""The command line: each file parses one command, calls the library and prints."""
