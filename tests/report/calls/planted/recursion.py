"""A recursive function that computes the same things again and again."""


def ways(steps):
    if steps < 2:
        return 1
    return ways(steps - 1) + ways(steps - 2)


def table(rows):
    return [f"{row:4} {ways(row)}" for row in range(rows)]


def main():
    for line in table(23):
        str(line)


if __name__ == "__main__":
    main()
