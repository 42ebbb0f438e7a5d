"""Tests that h5py reads checkpoints and recordings."""

import unittest

import h5py
import numpy as np

import samples

ARRAYS = {
    "policy/actor/0/weight": np.array([[1, 2, 3], [4, 5, -0.5]], np.float32),
    "normalizer/mean": np.array([0.1, -1e300], np.float64),
    "env/count": np.array([[-2147483647], [7]], np.int32),
    "step": np.array(1234567890123, np.int64),
    "flags": np.array([0, 1, 255], np.uint8),
    "empty": np.zeros((0, 4), np.float32),
    "large": np.arange(1000 * 701, dtype=np.float32).reshape(1000, 701),
}


def same(dataset, array):
    return dataset.dtype == array.dtype and dataset.shape == array.shape and np.array_equal(dataset[()], array)


class Checkpoint(unittest.TestCase):
    def test_arrays_are_read_exactly(self):
        with h5py.File(FOLDER / "checkpoint.h5") as file:
            found = []
            file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
            self.assertEqual(sorted(found), sorted(ARRAYS))
            for name, array in ARRAYS.items():
                self.assertTrue(same(file[name], array), name)

    def test_attributes_are_read_exactly(self):
        with h5py.File(FOLDER / "checkpoint.h5") as file:
            self.assertEqual(dict(file.attrs), {"task": "Zürich", "iteration": 150, "elapsed_seconds": 1.5,
                                                "format": "drl-checkpoint", "format_version": 1})

    def test_arrays_have_no_modification_time(self):
        with h5py.File(FOLDER / "checkpoint.h5") as file:
            for name in ARRAYS:
                messages = h5py.h5o.get_info(file[name].id).hdr.mesg.present
                self.assertFalse(messages & (1 << 0x0e | 1 << 0x12), name)  # HDF5's two modification time messages


class Recording(unittest.TestCase):
    def test_episodes_are_read_exactly(self):
        with h5py.File(FOLDER / "recording.h5") as file:
            self.assertEqual(list(file), ["episode_000000", "episode_000001"])
            self.assertEqual((file.attrs["task"], file.attrs["dt"]), ("Pendulum-v1", 0.05))
            first, second = file["episode_000000"], file["episode_000001"]
            self.assertTrue(same(first["observations"], np.array([[1, 2], [3, 4], [5, 6]], np.float32)))
            self.assertTrue(same(first["actions"], np.array([[0.5], [-0.5]], np.float32)))
            self.assertTrue(same(first["policy_actions"], np.array([[1], [-9]], np.float32)))
            self.assertTrue(same(first["rewards"], np.array([-1, -2], np.float32)))
            self.assertTrue(same(first["terminated"], np.array([0, 0], np.uint8)))
            self.assertTrue(same(first["truncated"], np.array([0, 1], np.uint8)))
            self.assertTrue(same(second["observations"], np.array([[7, 8], [9, 10]], np.float32)))
            self.assertTrue(same(second["actions"], np.array([3], np.int32)))
            self.assertTrue(same(second["policy_actions"], np.array([2], np.int32)))
            self.assertTrue(same(second["terminated"], np.array([1], np.uint8)))


if __name__ == "__main__":
    FOLDER = samples.write()
    unittest.main()
