"""Workers that share one lock, which one of them holds while it writes."""

import threading
import time

LOCK = threading.Lock()


def write_report():
    with LOCK:
        time.sleep(0.03)


def update(total):
    for number in range(2000):
        total += number * number
    with LOCK:
        return total


def reporter():
    for _ in range(10):
        write_report()


def worker():
    total = 0
    for _ in range(10):
        total = update(total)


def main():
    threads = [threading.Thread(target=reporter), *(threading.Thread(target=worker) for _ in range(3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
