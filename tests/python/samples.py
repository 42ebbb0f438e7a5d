"""The folder that write_samples (the test's only argument) fills, for as long as the test runs."""

import pathlib
import subprocess
import sys
import tempfile

_keep = tempfile.TemporaryDirectory()


def write():
    subprocess.run([sys.argv.pop(), _keep.name], check=True)
    return pathlib.Path(_keep.name)
