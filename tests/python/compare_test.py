"""Tests bench/peers/compare.py with programs that only report durations."""

import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

COMPARE = pathlib.Path(__file__).parents[2] / "bench/peers/compare.py"
sys.path.insert(0, str(COMPARE.parent))
import compare  # noqa: E402

# Reports 9 s for its first iteration and half a second for each later one.
DRL_TRAIN = f"""#!{sys.executable}
import pathlib, sys
options = dict(word[2:].split("=") for word in sys.argv[1:] if "=" in word)
steps = int(options["num_envs"]) * int(options["num_steps_per_env"]) * int(options["ranks"])
run = pathlib.Path(options["runs_dir"], options["task"], options["run_name"])
run.mkdir(parents=True)
rows = ["iteration,env_steps,iteration_time,elapsed_time"]
for k in range(int(options["max_iterations"])):
    rows.append(f"{{k + 1}},{{(k + 1) * steps}},{{0.5 if k else 9}},{{9 + 0.5 * k}}")
(run / "metrics.csv").write_text("\\n".join(rows) + "\\n")
"""


class Compare(unittest.TestCase):
    def programs(self):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = directory / "drl_train"
        program.write_text(DRL_TRAIN)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return directory

    def test_counts_multiply_adds_of_each_pass(self):
        # Both networks are 4-2-1, with 8 + 2 multiply-adds per row. With 3 steps of 2 environments, 6 rows pass through
        # the actor and 6 + 2 through the critic. Learning uses 6 rows twice; each network takes 10 forward, 10 for the
        # gradients of the weights and 2 for those of the hidden layer.
        work = compare.Work("T", envs=2, steps=3, hidden=(2,), outputs=1, epochs=2, peer="")
        self.assertEqual(work.multiply_adds(), 6 * 10 + 8 * 10 + 2 * 6 * 2 * 22)

    def test_the_order_in_a_pair_alternates(self):
        calls = []
        result = compare.in_turn(3, lambda: calls.append("a") or 1, lambda: calls.append("b") or 2, lambda: len(calls))
        self.assertEqual("".join(calls), "abbaab")
        self.assertEqual(result, [(0, 1, 2), (2, 1, 2), (4, 1, 2)])

    def test_the_first_iteration_does_not_count(self):
        work = compare.Work("T", envs=8, steps=5, hidden=(2,), outputs=1, epochs=1, peer="")
        drl = compare.Drl(self.programs(), work.drl_options(), [0])
        self.assertEqual(drl.steps_per_second(seconds=1.6), 80)  # 40 steps in half a second
        self.assertEqual(drl.iterations, 1 + 4)

    def test_ranks_share_the_environments(self):
        work = compare.Work("T", envs=8, steps=5, hidden=(2,), outputs=1, epochs=1, peer="")
        self.assertIn("--num_envs=4", work.drl_options(ranks=2))

    def test_ratios_are_of_pairs(self):
        result = compare.Result("w", "p", "steps/s", drl=[100, 300, 100], peers=[50, 100, 25], peaks=[1000, 2000, 1000],
                                multiply_adds_per_step=2)
        row = result.as_json()
        self.assertEqual(row["ratio"], {"median": 3, "min": 2, "max": 4})
        self.assertEqual(row["share_of_peak"], 0.2)  # the median of 0.2, 0.3, 0.2
        self.assertEqual(result.line(), "| w | p | 0.1 k | 0.1 k | 3.00 (2.00 to 4.00) | 20 % |  |")

    def test_ratios_of_times_are_inverted(self):
        result = compare.Result("w", "p", "s", drl=[0.5, 1.0, 0.25], peers=[10.0])
        self.assertEqual(result.as_json()["ratio"], {"median": 20, "min": 20, "max": 20})

    def test_missing_programs_are_named(self):
        for arguments, program in (["--bin", str(self.programs())], "fp32_peak"), (["--bin", "/nowhere"], "drl_train"):
            done = subprocess.run([sys.executable, COMPARE, *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(program, done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
