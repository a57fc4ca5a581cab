import pytest

from carom.viewer.timeline import Timeline, natural_speed


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
