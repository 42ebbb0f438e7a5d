#!/usr/bin/env python3
"""Records trajectories of trained policies in Gymnasium, for tests/physics/exact_test.cpp.

    tests/python/venv build/py tests/physics/policy_record.py tests/physics/recordings CHECKPOINT...

Writes one text file per task. The policy takes the most probable action; a new episode starts whenever one ends. Lines:
    state QPOS... QVEL...    the state every 50 steps
    ctrl CTRL...             the controls of the ten steps from that state on
"""

import sys
from pathlib import Path

import gymnasium

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
from evaluate_in_gymnasium import Policy

assert gymnasium.__version__ == "1.4.0"

EVERY, TOGETHER, STATES = 50, 10, 20


def record(checkpoint):
    policy = Policy(checkpoint, stochastic=False, seed=0)
    env = gymnasium.make(policy.task, disable_env_checker=True)
    observation, _ = env.reset(seed=0)
    data, total, returns, lines = env.unwrapped.data, 0.0, [], []
    for step in range(EVERY * STATES):
        action = policy.act(observation).clip(env.action_space.low, env.action_space.high)
        if step % EVERY == 0:
            lines.append("state " + " ".join(f"{x:.6g}" for x in [*data.qpos, *data.qvel]))
        if step % EVERY < TOGETHER:
            lines.append("ctrl " + " ".join(f"{x:.3g}" for x in action))
        observation, reward, terminated, truncated, _ = env.step(action)
        total += reward
        # An episode is not ended between a state and the last of its controls.
        if truncated or terminated and step % EVERY >= TOGETHER:
            returns.append(total)
            observation, total = env.reset()[0], 0.0
    returned = ", ".join(f"{x:.0f}" for x in returns)
    return policy.task, f"# {policy.task}, of episodes that return {returned}.\n" + "\n".join(lines) + "\n"


for path in sys.argv[2:]:
    task, text = record(Path(path))
    (Path(sys.argv[1]) / f"{task}.txt").write_text(text)
