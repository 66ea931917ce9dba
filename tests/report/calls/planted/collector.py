"""A loader that calls the garbage collector for each batch."""

import gc


class Node:
    def __init__(self, number):
        self.number = number
        self.me = self


def load(batch):
    nodes = [Node(batch * 100 + at) for at in range(100)]
    gc.collect()
    return nodes


def total(nodes):
    return sum(node.number for node in nodes)


def main():
    kept = []
    for batch in range(120):
        kept.append(load(batch))
    print(sum(map(total, kept)))


if __name__ == "__main__":
    main()
