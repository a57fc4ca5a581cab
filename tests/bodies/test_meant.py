"""Slips, and the one sentence that each gets."""

import pytest

import carom


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: carom.Box(1, 1, 1), "Box: expected lengths as one triple, Box((1, 1, 1))"),
        (
            lambda: carom.Box(half_extents=(1, 1, 1)),
            "Box: no argument 'half_extents': did you mean lengths, which are whole: twice the half extents?",
        ),
        (lambda: carom.Material(mu=0.3), "Material: no argument 'mu': did you mean friction?"),
        (lambda: carom.Material(0.3, e=0.3), "Material: no argument 'e': did you mean restitution?"),
        (lambda: carom.Sphere(r=0.3), "Sphere: no argument 'r': did you mean radius?"),
        (lambda: carom.Sphere(radios=0.3), "Sphere: no argument 'radios': did you mean radius?"),
        (
            lambda: carom.Body(carom.Sphere(0.3), mass=1.0, pos=(0, 0, 1)),
            "Body: no argument 'pos': did you mean position?",
        ),
        (lambda: carom.Spring(xyz=1), "Spring: no argument 'xyz'; it has stiffness, rest"),
        (lambda: carom.Scene(g=(0, 0, -1)), "Scene: no argument 'g': did you mean gravity?"),
    ],
)
def test_arguments_of_other_programs(make, said):
    with pytest.raises(TypeError) as raised:
        make()
    assert str(raised.value) == said


def test_what_a_constructor_says_itself_is_kept():
    with pytest.raises(TypeError, match="radius: expected a number, got 'wide'"):
        carom.Sphere("wide")
    with pytest.raises(TypeError, match=r"Sphere: expected radius, such as radius=0\.1"):
        carom.Sphere()
    with pytest.raises(TypeError, match="takes"):
        carom.Sphere(1.0, 2.0)
    assert carom.Box.__init__.__doc__ == carom.Box.__init__.__wrapped__.__doc__


def test_names_of_the_package():
    with pytest.raises(AttributeError, match=r"no public name 'Simulater': did you mean 'Simulator'\?"):
        carom.Simulater  # noqa: B018
    with pytest.raises(AttributeError, match=r"no public name 'zzz'$"):
        carom.zzz  # noqa: B018
