"""Tests that TensorBoard's own reader reads the event files of a run that was resumed at iteration 6."""

import unittest

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

import samples

CONSTANT = {
    "Loss/value": 2, "Policy/kl": 0.01, "Perf/total_fps": 1e6, "Perf/collection_time": 5, "Perf/learning_time": 6, "Perf/waiting_time": 7,
    "Train/mean_episode_length": 210,
}


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.events = EventAccumulator(str(FOLDER / "events")).Reload()

    def points(self, tag):
        return [(point.step, point.value) for point in self.events.Scalars(tag)]

    def test_all_tags_are_read(self):
        self.assertEqual(set(self.events.Tags()["scalars"]), {*CONSTANT, "Train/mean_reward", "Episode/alive"})

    def test_constants_have_a_point_per_iteration(self):
        for tag, value in CONSTANT.items():
            steps, values = zip(*self.points(tag))
            self.assertEqual(steps, tuple(range(1, 13)), tag)
            for found in values:
                self.assertAlmostEqual(found, value, delta=1e-7 * abs(value))  # float32

    def test_resume_replaces_later_points(self):
        before = [(i, i) for i in range(2, 7)]  # the first was NaN
        after = [(i, 100 + i) for i in range(7, 13)]
        self.assertEqual(self.points("Train/mean_reward"), before + after)
        self.assertEqual(self.points("Episode/alive"), [(i, i / 2) for i in range(1, 13)])

    def test_options_are_a_text(self):
        self.assertEqual(self.events.SummaryMetadata("options").plugin_data.plugin_name, "text")
        self.assertEqual(list(self.events.Tensors("options")[0].tensor_proto.string_val), [b"num_envs = 512"])

    def test_films_are_images(self):
        (film,) = self.events.Images("film")
        self.assertEqual((film.step, film.width, film.height, film.encoded_image_string[:6]), (5, 2, 1, b"GIF89a"))

    def test_options_are_hyperparameters(self):
        data = self.events.SummaryMetadata("_hparams_/session_start_info").plugin_data
        self.assertEqual(data.plugin_name, "hparams")
        hparams = metadata.parse_session_start_info_plugin_data(data.content).hparams
        self.assertEqual({name: getattr(value, value.WhichOneof("kind")) for name, value in hparams.items()},
                         {"num_envs": 512, "ppo.gamma": 0.99, "policy.activation": "elu", "fresh": True})


if __name__ == "__main__":
    FOLDER = samples.write()
    unittest.main()
