"""Tables of a recording read without HDF5: every row as HDF5 reads it, and what is refused."""

import h5py
import numpy as np
import pytest

from carom import FileFormatError
from carom.simulator.record.growing_array import GrowingArray
from carom.simulator.record.stored_table import StoredFile, StoredTable


@pytest.fixture
def stored(tmp_path):
    """A file with plain and compressed data sets, whose chunks do not fit the rows, and what they hold."""
    rng = np.random.default_rng(2)
    content = {"flat": rng.normal(size=1000).astype("f4"), "frames": rng.normal(size=(205, 3, 2))}
    path = tmp_path / "tables.h5"
    with h5py.File(path, "w") as file:
        for name, rows in content.items():
            tail = rows.shape[1:]
            data = file.create_dataset(
                name, (0, *tail), dtype=rows.dtype, maxshape=(None, *tail), chunks=(16, *tail)
            )
            data.resize(len(rows), axis=0)
            data[:] = rows
        file.create_dataset("compressed", data=content["flat"], chunks=(16,), compression="gzip")
        file.create_dataset("split", data=content["frames"], chunks=(16, 1, 2))
        file.create_dataset("contiguous", data=content["flat"])
    return path, content


@pytest.mark.parametrize("name", ["flat", "frames"])
def test_every_row_is_what_hdf5_reads(stored, name):
    path, content = stored
    expected = content[name]
    with h5py.File(path) as file:
        table = StoredTable(StoredFile(path), file[name], len(expected))
    assert np.array_equal(table.all(), expected)
    assert len(table) == len(expected)
    for first, last in np.sort(np.random.default_rng(1).integers(0, len(expected) + 1, (60, 2)), axis=1):
        found = table.rows(int(first), int(last))
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected[first:last])
    for k in (0, 15, 16, 17, len(expected) - 1):
        assert np.array_equal(table.row(k), expected[k])


def test_rows_are_the_readers_own(stored):
    path, content = stored
    with h5py.File(path) as file:
        table = StoredTable(StoredFile(path), file["frames"], 205)
    table.row(3)[:] = 0.0
    assert np.array_equal(table.row(3), content["frames"][3])


@pytest.mark.parametrize("name", ["compressed", "split", "contiguous"])
def test_other_storage_is_refused(stored, name):
    with h5py.File(stored[0]) as file, pytest.raises(ValueError, match="plain chunks"):
        StoredTable(StoredFile(stored[0]), file[name], 5)


def test_missing_rows_are_refused(stored):
    with h5py.File(stored[0]) as file, pytest.raises(ValueError, match="1000 rows where 1001"):
        StoredTable(StoredFile(stored[0]), file["flat"], 1001)
    with h5py.File(stored[0]) as file:
        table = StoredTable(StoredFile(stored[0]), file["flat"], 10)
    with pytest.raises(IndexError, match="0 to 10"):
        table.rows(9, 11)


def test_a_file_that_was_cut_meanwhile_is_told(stored):
    path, _ = stored
    with h5py.File(path) as file:
        table = StoredTable(StoredFile(path), file["flat"], 1000)
    with path.open("r+b") as stream:
        stream.truncate(100)
    with pytest.raises(
        FileFormatError, match=r"tables\.h5: the recording is damaged \(it has become shorter"
    ):
        table.all()


def test_growing_array_holds_what_was_added():
    rows = np.random.default_rng(3).normal(size=(37, 2))
    growing = GrowingArray(2)
    for count, row in enumerate(rows):
        assert np.array_equal(growing.values, rows[:count])
        growing.append(row)
    assert len(growing) == 37
    assert np.array_equal(growing[-1], rows[-1])
    early = growing.values
    growing.append([1.0, 2.0])
    assert np.array_equal(early, rows)
    with pytest.raises(ValueError, match="read-only"):
        growing.values[0] = 0.0
