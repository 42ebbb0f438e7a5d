"""Parses drl_report's page as HTML and as XML, and compares its numbers with numpy's."""

import html.parser
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import numpy as np

VOID = {"meta", "img", "br", "hr", "link", "input"}
XHTML = "{http://www.w3.org/1999/xhtml}"
NASTY = "</script><b>&\"'é\x01]]>"
SEEDS, ITERATIONS, POINTS = 5, 1000, 600
SEED = np.arange(SEEDS)[:, None]
REWARD = np.sin(0.01 * np.arange(1, ITERATIONS + 1)) + 0.1 * SEED  # [SEEDS, ITERATIONS]


class Reader(html.parser.HTMLParser):
    """Collects tags that do not match, and attributes that refer to other files."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.sources = [], [], []

    def handle_starttag(self, tag, attributes):
        self.sources += [value for name, value in attributes if name in ("src", "href", "srcset", "poster", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def write_run(path, options, rows, status="done"):
    path.mkdir(parents=True)
    (path / "options.ini").write_text(options)
    (path / "metrics.csv").write_text("iteration,env_steps,mean_reward,elapsed_time,collection_time,learning_time,waiting_time,iteration_time,nan_only\n" + rows)
    (path / "run.json").write_text(json.dumps({"task": path.parent.name, "run": path.name, "status": status, "world_size": 1, "hosts": ["h"]}))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        runs = pathlib.Path(cls.directory.name) / "runs"
        for seed in range(SEEDS):
            rows = "".join(f"{i + 1},{64 * (i + 1)},{float(REWARD[seed, i])!r},{0.5 * (i + 1)},0.1,0.3,0.05,0.5,nan\n" for i in range(ITERATIONS))
            write_run(runs / "Cart" / f"s{seed}", f"seed = {seed}\n[ppo]\ngamma = 0.9\n", rows)
        write_run(runs / "Cart" / "other", "seed = 0\n[ppo]\ngamma = 0.99\n", "1,64,1,1,1,1,1,4,nan\n2,12", NASTY)
        write_run(runs / "Pole" / "empty", f"x = {NASTY.replace(chr(1), '')}\n", "")
        (runs / "Cart" / "s0" / "film.gif").write_bytes(b"GIF89a")
        page = pathlib.Path(cls.directory.name) / "page.html"
        subprocess.run([PROGRAM, runs, "--output", page, "--title", NASTY], check=True, capture_output=True)
        cls.text = page.read_text(encoding="utf-8")
        # ElementTree is strict: it raises an exception for any entity, tag or character that is not valid XML.
        cls.root = ElementTree.fromstring(cls.text)
        cls.numbers = json.loads(next(s for s in cls.root.iter(XHTML + "script") if s.get("id") == "numbers").text)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_tags_match(self):
        reader = Reader()
        reader.feed(self.text)
        reader.close()
        self.assertEqual(reader.wrong, [])
        self.assertEqual(reader.open, [])
        self.assertEqual([source[:22] for source in reader.sources], ["data:image/gif;base64,"])  # nothing is fetched

    def test_style_and_script_fetch_nothing(self):
        text = self.text.replace('clip-path="url(#plot', "")  # a part of the page itself
        for word in ("@import", "url(", "fetch(", "XMLHttpRequest", "import("):
            self.assertNotIn(word, text)

    def test_texts_are_escaped(self):
        title = next(self.root.iter(XHTML + "title")).text
        self.assertEqual(title, NASTY.replace("\x01", "\ufffd"))
        self.assertEqual(list(self.root.iter(XHTML + "b")), [])

    def test_curves_are_drawn_without_script(self):
        charts = [figure for figure in self.root.iter(XHTML + "figure") if figure.get("class") == "chart"]
        self.assertEqual(len(charts), len(self.numbers["charts"]))
        for chart in charts:
            self.assertTrue(any(path.get("d") for group in chart.iter(XHTML + "g") if group.get("class") == "curves" for path in group))

    def test_curves_show_mean_and_range_over_seeds(self):
        group = self.numbers["groups"].index("ppo.gamma 0.9")
        series = next(s for chart in self.numbers["charts"] for s in chart["series"] if s["group"] == group)
        points = REWARD.reshape(SEEDS, ITERATIONS // 2, 2).mean(axis=2)  # a point is the mean of two iterations
        for name, expected in (("mean", points.mean(axis=0)), ("low", points.min(axis=0)), ("high", points.max(axis=0))):
            self.assertEqual(len(series[name]), ITERATIONS // 2)
            np.testing.assert_allclose(series[name], expected, rtol=1e-4, atol=1e-6)
        axes = {axis["label"]: axis["positions"][group] for axis in self.numbers["axes"]}
        even = np.arange(2, ITERATIONS + 1, 2)
        np.testing.assert_allclose(axes["environment steps"], 64 * even, rtol=1e-4)
        np.testing.assert_allclose(axes["iteration"], even, rtol=1e-4)
        np.testing.assert_allclose(axes["wall time, min"], 0.5 * even / 60, rtol=1e-4)

    def test_times_are_stacked(self):
        group = self.numbers["groups"].index("ppo.gamma 0.9")
        chart = next(c for c in self.numbers["charts"] if c["series"][0].get("name") and c["series"][0]["group"] == group)
        found = {s["name"]: (s["mean"][0], s["low"][0], s["high"][0]) for s in chart["series"]}
        expected = {"collect": (0.1, 0, 0.1), "learn": (0.3, 0.1, 0.4), "wait": (0.05, 0.4, 0.45), "rest": (0.05, 0.45, 0.5)}
        self.assertEqual(found.keys(), expected.keys())
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-9)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
