"""Writes files under a passing name, then gives them their own."""

import os
import subprocess
import sys
from pathlib import Path

os.chdir(sys.argv[1])
for step in range(2):
    with open("part", "w") as file:
        file.write(f"step {step}\n")
    Path("part").rename(f"step.{step}")
os.link("step.1", "linked")
with open("part", "w") as file:
    file.write("another process moves it\n")
subprocess.run(["mv", "part", "moved"], check=True)
