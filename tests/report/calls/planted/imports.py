"""A command line tool that imports more than it uses."""

import argparse
import asyncio
import sys
import unittest.mock


def parse(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="world")
    return parser.parse_args(words)


def main():
    options = parse([])
    for _ in range(2000):
        greeting = f"hello {options.name}"
    print(greeting, len(sys.argv), bool(asyncio), bool(unittest.mock))


if __name__ == "__main__":
    main()
