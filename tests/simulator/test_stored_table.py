"""Tables of a recording read without HDF5: every row as HDF5 reads it, and what is refused."""

import h5py
import numpy as np
import pytest

from carom import FileFormatError
from carom.simulator.record.row_table import GrowingTable, joined
from carom.simulator.record.schema import Range, RowCheck, dataset_in
from carom.simulator.record.stored_table import StoredFile, StoredTable

LONGER = {"frames": np.dtype([("number", "i8"), ("frame", "f8", (3, 2))])}


@pytest.fixture
def stored(tmp_path):
    """A file with plain and compressed data sets, whose chunks do not fit the rows, and what they hold."""
    rng = np.random.default_rng(2)
    rows = np.zeros(205, dtype=[("number", "i4"), ("frame", "f8", (3, 2))])
    rows["number"], rows["frame"] = rng.integers(0, 1000, 205), rng.normal(size=(205, 3, 2))
    content = {"flat": rng.normal(size=1000).astype("f4"), "frames": rows}
    path = tmp_path / "tables.h5"
    with h5py.File(path, "w") as file:
        for name, rows in content.items():
            data = file.create_dataset(name, (0,), dtype=rows.dtype, maxshape=(None,), chunks=(16,))
            data.resize(len(rows), axis=0)
            data[:] = rows
        file.create_dataset("compressed", data=content["flat"], chunks=(16,), compression="gzip")
        file.create_dataset("split", data=rng.normal(size=(20, 3)), chunks=(16, 1))
        file.create_dataset("contiguous", data=content["flat"])
    return path, content


@pytest.mark.parametrize("name", ["flat", "frames"])
def test_every_row_is_what_hdf5_reads(stored, name):
    path, content = stored
    expected = content[name]
    with h5py.File(path) as file:
        table = table_of(StoredFile(path), file[name], len(expected), LONGER.get(name, expected.dtype))
    assert np.array_equal(table.rows(0, len(expected)), expected)
    assert len(table) == len(expected)
    for first, last in np.sort(np.random.default_rng(1).integers(0, len(expected) + 1, (60, 2)), axis=1):
        found = table.rows(int(first), int(last))
        assert found.dtype == table.dtype
        assert np.array_equal(found, expected[first:last])
    which = np.random.default_rng(4).integers(0, len(expected), 300)
    assert np.array_equal(table.taken(which), expected[which])
    assert len(table.taken(which[:0])) == 0


def test_columns_are_read_once(stored):
    path, content = stored
    with h5py.File(path) as file:
        table = table_of(StoredFile(path), file["frames"], 205, LONGER["frames"])
    assert table.column("number").tolist() == content["frames"]["number"].tolist()
    assert np.array_equal(table.column("frame", 40), content["frames"]["frame"][40:])
    assert table.column("number") is not None
    assert np.shares_memory(table.column("number"), table.column("number", 3))


def table_of(stored, dataset, count, dtype):
    """A table of rows that can be anything."""
    return StoredTable(stored, dataset, count, np.dtype(dtype), RowCheck("table", np.dtype(dtype), {}))


def test_other_columns_are_refused(stored):
    with h5py.File(stored[0]) as file, pytest.raises(ValueError, match="frames: expected numbers of type"):
        dataset_in(file, "frames", (np.dtype([("other", "f8")]),))


def test_other_storage_is_refused(stored):
    with h5py.File(stored[0]) as file, pytest.raises(ValueError, match="chunks of rows"):
        table_of(StoredFile(stored[0]), file["contiguous"], 5, "f4")
    with h5py.File(stored[0]) as file, pytest.raises(ValueError, match="got compressed ones"):
        dataset_in(file, "compressed", (np.dtype("f4"), np.dtype("f8")))


def test_more_rows_than_the_file_can_have_are_refused(stored):
    path = stored[0]
    with h5py.File(path, "a") as file:
        file["flat"].resize(10**12, axis=0)
    with h5py.File(path) as file, pytest.raises(ValueError, match="cannot have 1000000000000 rows in a file"):
        table_of(StoredFile(path), file["flat"], 10**12, "f4")


def test_numbers_out_of_range_are_told_where_they_are_read(stored):
    path = stored[0]
    ranges = {"": Range(-10.0, 10.0)}
    with h5py.File(path, "a") as file:
        values = file.create_dataset("values", data=np.arange(30.0) / 3.0, chunks=(4,))
        values[20] = np.nan
    with h5py.File(path) as file:
        table = StoredTable(
            StoredFile(path), file["values"], 30, np.dtype("f8"), RowCheck("values", np.dtype("f8"), ranges)
        )
    assert table.rows(0, 20).tolist() == (np.arange(20.0) / 3.0).tolist()
    with pytest.raises(FileFormatError, match=r"values: expected from -10 to 10, got nan\)"):
        table.rows(19, 21)
    with pytest.raises(FileFormatError, match="values"):
        table.taken(np.array([2, 20]))


def test_missing_rows_are_refused(stored):
    with h5py.File(stored[0]) as file, pytest.raises(ValueError, match="1000 rows where 1001"):
        table_of(StoredFile(stored[0]), file["flat"], 1001, "f4")
    with h5py.File(stored[0]) as file:
        table = table_of(StoredFile(stored[0]), file["flat"], 10, "f4")
    with pytest.raises(IndexError, match="0 to 10"):
        table.rows(9, 11)


def test_a_file_that_was_cut_meanwhile_is_told(stored):
    path, _ = stored
    with h5py.File(path) as file:
        table = table_of(StoredFile(path), file["flat"], 1000, "f4")
    with path.open("r+b") as stream:
        stream.truncate(100)
    with pytest.raises(
        FileFormatError, match=r"tables\.h5: the recording is damaged \(it has become shorter"
    ):
        table.rows(0, 1000)


def numbered(first, last):
    rows = np.zeros(last - first, dtype=[("number", "i8"), ("square", "f8")])
    rows["number"] = np.arange(first, last)
    rows["square"] = rows["number"] ** 2
    return rows


def test_growing_table_holds_what_was_added():
    table, known = GrowingTable(numbered(0, 0).dtype), 0
    random = np.random.default_rng(3)
    while known < 20_000:
        more = int(random.integers(0, 3000))
        table.append(numbered(known, known + more))
        known += more
    assert len(table) == known
    assert table.column("number").tolist() == list(range(known))
    assert table.column("square", 19_000)[0] == 19_000.0**2
    which = random.integers(0, known, 500)
    assert table.taken(which)["number"].tolist() == which.tolist()
    for first, last in np.sort(random.integers(0, known + 1, (40, 2)), axis=1).tolist():
        assert table.rows(first, last)["number"].tolist() == list(range(first, last))
    with pytest.raises(IndexError, match="within 0"):
        table.rows(5, known + 1)


def test_tables_that_begin_alike_share_their_rows():
    table = GrowingTable(numbered(0, 0).dtype)
    table.append(numbered(0, 10_000))
    one, other = joined([(table, 9_000)]), joined([(table, None)])
    one.append(numbered(50, 60))
    table.append(numbered(10_000, 10_010))
    assert one.column("number").tolist() == [*range(9_000), *range(50, 60)]
    assert other.column("number").tolist() == list(range(10_000))
    assert np.shares_memory(other.parts()[0], table.parts()[0])


def test_of_what_a_file_holds_no_more_is_read_than_was_asked_for():
    """A run that is recorded was sampled by reading whole parts: 5 s for 400 states of a rattleback."""
    table = GrowingTable(numbered(0, 0).dtype)
    for first in range(0, 40_000, 5_000):
        table.append(numbered(first, first + 5_000))
    spans = []

    def read(first, last):
        spans.append((first, last))
        return numbered(first, last)

    table.let_go(len(table), read)
    held = len(table) - 5_000  # the last part still grows
    random = np.random.default_rng(5)
    for first in random.integers(0, held - 10, 50).tolist():
        assert table.rows(first, first + 7)["number"].tolist() == list(range(first, first + 7))
        near = first + random.permutation(7)
        assert table.taken(near)["number"].tolist() == near.tolist()
    assert sum(last - first for first, last in spans) == 50 * 2 * 7
    assert table.column("number", 12_345).tolist() == list(range(12_345, len(table)))
    assert table.parts()[0][::-3]["number"].tolist() == list(range(5_000))[::-3]
    assert len(table.parts()[0][7:3]) == len(table.parts()[0][np.empty(0, dtype=int)]) == 0
