"""Runs write_samples, which is the test's only argument, in a directory that is deleted when the test ends."""

import pathlib
import subprocess
import sys
import tempfile

_keep = tempfile.TemporaryDirectory()


def write():
    subprocess.run([sys.argv.pop(), _keep.name], check=True)
    return pathlib.Path(_keep.name)
