"""A service that compresses every response at the highest level."""

import json
import zlib


def load(number):
    return [{"id": number * 1000 + at, "name": f"item {at}", "tags": ["a", "b", str(at)]} for at in range(300)]


def render(rows):
    return json.dumps(rows).encode()


def respond(number):
    body = render(load(number))
    return zlib.compress(body * 12, 9)


def main():
    sent = 0
    for number in range(75):
        sent += len(respond(number))
    print(sent)


if __name__ == "__main__":
    main()
