from types import SimpleNamespace

import pytest

from carom.viewer.moments import choose_moments, label_moment, time_decimals


def trajectory(times, end=4.0, kind="impact"):
    events = [SimpleNamespace(time=time, kind=kind) for time in times]
    return SimpleNamespace(start_time=0.0, end_time=end, events=events)


def test_six_moments_show_impacts_and_the_motion_after_them():
    moments = choose_moments(trajectory([1.0, 1.5, 2.0, 3.0]))
    assert [moment.label for moment in moments] == [
        "t = 0.000 s   start",
        "t = 1.000 s   impact 1",
        "t = 1.250 s   after impact 1",
        "t = 3.000 s   impact 4",
        "t = 3.500 s   after impact 4",
        "t = 4.000 s   end",
    ]


def test_of_many_impacts_the_first_and_well_spaced_ones_are_chosen():
    moments = choose_moments(trajectory([0.5 + 0.001 * number for number in range(1000)] + [3.0]))
    times = [moment.time for moment in moments]
    assert len(set(times)) == 6
    assert times == sorted(times)
    assert times[1] == 0.5
    assert times[3:5] == [3.0, 3.5]


def test_without_impacts_time_is_shared_out():
    times = [moment.time for moment in choose_moments(trajectory([2.2], kind="slip"), 5)]
    assert times == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_as_many_as_asked(count):
    moments = choose_moments(trajectory([1.0, 2.0]), count)
    assert len(moments) == count
    assert moments[-1].time == 4.0


def test_impacts_at_one_instant_are_one_moment():
    times = [moment.time for moment in choose_moments(trajectory([1.0, 1.0, 1.0]), 6)]
    assert times.count(1.0) == 1


def test_an_impact_at_the_start_is_named():
    assert label_moment(trajectory([0.0]), 0.0).label == "t = 0.000 s   impact 1"


@pytest.mark.parametrize(("duration", "decimals"), [(100.0, 3), (1.0, 3), (1e-3, 6), (0.0, 3)])
def test_decimals_show_a_thousandth_of_the_motion(duration, decimals):
    assert time_decimals(duration) == decimals


@pytest.mark.parametrize("count", [0, -1, 2.5, "6"])
def test_other_counts_are_refused(count):
    with pytest.raises(ValueError, match="moments must be"):
        choose_moments(trajectory([]), count)
