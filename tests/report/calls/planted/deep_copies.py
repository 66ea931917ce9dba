"""A simulation that copies its whole state at each step."""

import copy


def start():
    return {"cells": [{"x": n, "y": n * 2, "tags": ["a", "b"]} for n in range(120)], "time": 0}


def step(state):
    state = copy.deepcopy(state)
    state["time"] += 1
    for cell in state["cells"]:
        cell["x"] += 1
    return state


def main():
    state = start()
    for _ in range(60):
        state = step(state)
    print(state["time"])


if __name__ == "__main__":
    main()
