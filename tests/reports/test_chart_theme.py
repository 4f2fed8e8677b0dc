from __future__ import annotations

import pytest

from prompt_evaluator.reports.chart_theme import DARK, LIGHT, Colours, theme_config

THEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@THEMES
def test_text_has_the_contrast_that_wcag_aa_asks_for(colours: Colours) -> None:
    assert contrast(colours.text, colours.background) >= 7
    assert contrast(colours.muted, colours.background) >= 4.5


@THEMES
def test_marks_and_lines_have_the_contrast_that_wcag_aa_asks_for(colours: Colours) -> None:
    for colour in (*colours.series, *colours.classes, colours.line):
        assert contrast(colour, colours.background) >= 3


@THEMES
def test_better_and_worse_differ_for_people_who_see_no_red_or_green(colours: Colours) -> None:
    better, worse = colours.classes[:2]

    blue = int(better[5:7], 16) - int(worse[5:7], 16)
    assert blue > 100


def test_the_two_themes_define_the_same_looks() -> None:
    light, dark = theme_config("light"), theme_config("dark")

    assert light.keys() == dark.keys()
    assert light["style"].keys() == dark["style"].keys()
    assert light["background"] != dark["background"]


def test_styles_do_not_replace_those_of_vega() -> None:
    assert all(name.startswith("pe-") for name in theme_config("light")["style"])
