"""Waiting for what happens on another thread: a condition with a deadline, never a fixed time."""

import time
from threading import Lock

DEADLINE_S = 30


def eventually(condition, what="the condition", deadline_s=DEADLINE_S):
    """Waits until `condition()` is true and gives its value back."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come true within {deadline_s} s"
        time.sleep(0.02)  # sleeps because the condition is on another process, which cannot wake us


class Seen(list):
    """Collects what a listener is called with."""

    def __init__(self):
        super().__init__()
        self.lock = Lock()

    def __bool__(self):
        return True  # a client takes a listener that is false, as an empty list is, for none

    def __call__(self, event):
        with self.lock:
            self.append(event)

    def wait_for(self, count):
        eventually(lambda: len(self) >= count, f"{count} events (got {len(self)})")
        return list(self)
