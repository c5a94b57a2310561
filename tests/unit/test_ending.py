"""A process that hangs while it stops ends all the same, and says what it was at."""

import signal
import subprocess
import sys

import pytest

# stops as the product does, but for a thread that never comes back: `asyncio.run` would wait for it for ever
HANGS = """
import asyncio, sys, threading, time
from ops.ending import Ending

def check():
    print("up", flush=True)
    while sys.argv[2] == "loop":
        time.sleep(0.01)

async def main():
    held = threading.Event()
    hanging = asyncio.create_task(asyncio.to_thread(held.wait), name="hanging")
    await asyncio.sleep(0)
    await ending.wait(check, 3600)
    print("stopping", flush=True)
    await hanging

ending = Ending(float(sys.argv[1]))
ending.take_over()
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("limit_s", "holds", "again", "why"),
    [
        (0.1, "thread", False, "within 0.1 s"),
        (0.1, "loop", False, "within 0.1 s"),
        (3600, "thread", True, "told twice"),
    ],
)
def test_what_hangs_does_not_outlive_the_limit_or_a_second_signal(
    limit_s: float, holds: str, again: bool, why: str
) -> None:
    """Also where the event loop stands still the limit runs from the first signal; one line names what was at work."""
    command = [sys.executable, "-c", HANGS, str(limit_s), holds]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        if again:
            assert process.stdout.readline() == "stopping\n"
            process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 1
    assert why in said
    assert "hanging" in said
    assert said.count("\n") == 1
