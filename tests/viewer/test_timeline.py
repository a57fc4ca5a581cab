import numpy as np
import pytest

from carom.viewer.timeline import Timeline, instants, natural_speed


@pytest.fixture
def timeline():
    return Timeline(0.0, 4.0, [3.0, 1.0, 1.0, 2.0])


def test_starts_paused_at_the_start_in_real_time(timeline):
    assert (timeline.time, timeline.playing, timeline.speed) == (0.0, False, 1.0)
    assert not timeline.advance(1.0)
    assert timeline.time == 0.0


def test_plays_at_its_speed_and_stops_at_the_end(timeline):
    timeline.toggle()
    timeline.faster()
    assert timeline.advance(0.5)
    assert timeline.time == pytest.approx(1.0)
    timeline.advance(100.0)
    assert timeline.time == 4.0
    assert not timeline.playing
    timeline.toggle()
    assert timeline.time == 0.0


def test_events_are_visited_in_order_both_ways(timeline):
    visited = []
    for _ in range(4):
        timeline.next_event()
        visited.append(timeline.time)
    assert visited == [1.0, 2.0, 3.0, 4.0]
    for _ in range(4):
        timeline.previous_event()
        visited.append(timeline.time)
    assert visited[4:] == [3.0, 2.0, 1.0, 0.0]


def test_event_count_includes_the_event_of_this_instant(timeline):
    timeline.seek(1.0)
    assert timeline.event_count == 1


def test_a_jump_pauses(timeline):
    timeline.toggle()
    timeline.next_event()
    assert not timeline.playing


def test_scrubbing_is_clipped(timeline):
    timeline.seek_fraction(0.25)
    assert timeline.time == 1.0
    assert timeline.fraction == 0.25
    timeline.seek_fraction(7)
    assert timeline.time == 4.0
    timeline.seek(-3)
    assert timeline.time == 0.0


def test_frame_steps_go_back_and_on(timeline):
    timeline.seek(2.0)
    timeline.step_frames(6)
    assert timeline.time == pytest.approx(2.1)
    timeline.step_frames(-6)
    assert timeline.time == pytest.approx(2.0)


def test_speeds_go_up_and_down_and_end(timeline):
    timeline.slower()
    assert timeline.speed == pytest.approx(0.5)
    timeline.faster()
    assert timeline.speed == pytest.approx(1.0)
    for _ in range(100):
        timeline.faster()
    fastest = timeline.speed
    timeline.faster()
    assert timeline.speed == fastest


@pytest.mark.parametrize(
    ("duration", "least", "most"), [(1e-3, 2, 8), (0.3, 1, 8), (5, 5, 5), (3600, 30, 90)]
)
def test_natural_speed_lasts_a_sensible_while(duration, least, most):
    assert least <= duration / natural_speed(duration) <= most


def test_a_motion_without_duration_works():
    timeline = Timeline(1.0, 1.0)
    timeline.toggle()
    timeline.advance(1.0)
    assert (timeline.fraction, timeline.time) == (0.0, 1.0)


def test_end_before_start_is_refused():
    with pytest.raises(ValueError, match="end must not lie before start"):
        Timeline(1.0, 0.0)


@pytest.fixture
def mixed():
    return Timeline(0.0, 4.0, [1.0, 2.0, 2.0, 3.0], ["impact", "stick", "impact", "lift_off"])


def test_impacts_are_visited_without_the_other_events(mixed):
    mixed.next_impact()
    mixed.next_impact()
    assert mixed.time == 2.0
    mixed.next_impact()
    assert mixed.time == 4.0
    mixed.previous_impact()
    mixed.previous_impact()
    assert mixed.time == 1.0
    mixed.seek(2.0)
    mixed.next_event()
    assert mixed.time == 3.0


def test_marks_tell_kinds_by_column(mixed):
    assert mixed.marks(5) == {"impact": [1, 2], "stick": [2], "lift_off": [3]}
    assert mixed.marks(1) == {"impact": [0], "stick": [0], "lift_off": [0]}
    assert mixed.counts() == {"impact": 2, "stick": 1, "lift_off": 1}


def test_many_marks_fill_each_column_once():
    timeline = Timeline(0.0, 1.0, [k / 100_000 for k in range(100_001)])
    assert timeline.marks(100) == {"impact": list(range(100))}


def test_without_events_there_are_no_marks():
    assert Timeline(0.0, 1.0).marks(100) == {}


def test_impacts_within_a_span_exclude_its_start(mixed):
    assert mixed.impact_within(0.0, 4.0) == 1.0
    assert mixed.impact_within(1.0, 4.0) == 2.0
    assert mixed.impact_within(2.0, 4.0) is None
    assert mixed.impact_within(0.0, 0.9) is None


def test_a_motion_that_grows_keeps_time_and_speed(mixed):
    mixed.seek(3.5)
    mixed.faster()
    mixed.extend(8.0, [1.0, 7.0], ["impact", "impact"])
    assert (mixed.time, mixed.end, mixed.speed) == (3.5, 8.0, 2.0)
    mixed.next_impact()
    assert mixed.time == 7.0


def test_kinds_must_match_times():
    with pytest.raises(ValueError, match="event_kinds must name 2 events, got 1"):
        Timeline(0.0, 1.0, [0.1, 0.2], ["impact"])


def test_instants_are_distinct_times_in_order():
    assert instants(np.array([1.0, 1.0, 2.0, 5.0])).tolist() == [1.0, 2.0, 5.0]
    assert instants(np.array([2.0, 1.0, 2.0])).tolist() == [1.0, 2.0]
    assert len(instants(np.array([]))) == 0
