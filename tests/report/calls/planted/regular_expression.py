"""A validator with a pattern that backtracks."""

import re

NAME = re.compile(r"^(\w+\s?)*$")


def read():
    return ["a short name", "another one", "someone with a long name"] * 300 + ["x" * 21 + "!"]


def is_valid(name):
    return bool(NAME.match(name))


def normalise(name):
    return " ".join(word.capitalize() for word in name.split())


def main():
    names = [normalise(name) for name in read() if is_valid(name)]
    print(len(names))


if __name__ == "__main__":
    main()
