"""Counts while a program runs, and prints what was counted."""

import threading

import call_counter


def leaf(n):
    return n + 1


def work():
    total = 0
    for _ in range(3):
        total = leaf(total)
    return total


call_counter.start(where='function("leaf", "work")', lines=True)
thread = threading.Thread(target=work)
thread.start()
thread.join()
work()
for code, (calls, lines) in sorted(call_counter.stop().items(), key=lambda item: item[0].co_name):
    print(f"{code.co_name}: {calls} calls, {lines} lines")
