"""python -m drl MODEL...: compiles models into the cache, for example for nodes without a compiler."""

import argparse
import sys

from drl.batch import as_model
from drl.compiler import INSTRUCTION_SETS, library


def main():
    parser = argparse.ArgumentParser(prog="python -m drl", description="Compiles models into drl's cache.")
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a file that MuJoCo reads")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--randomised", action="store_true", help="for expand() and xfrc_applied")
    parser.add_argument("--march", choices=INSTRUCTION_SETS, help="instruction set (default: this CPU's best)")
    given = parser.parse_args()
    for file in given.models:
        try:
            print(library(*as_model(file), given.dtype, given.randomised, given.march))
        except (ValueError, RuntimeError, OSError, ImportError) as error:
            sys.exit(f"error: {error}")


main()
