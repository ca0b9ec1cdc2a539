"""docs/picture.svg shows what the commands print today."""

from docs.make_picture import TARGET, draw, read_words, record_scene


def test_the_picture_of_the_readme_has_the_words_of_todays_output() -> None:
    with open(TARGET, encoding="utf-8") as stream:
        shown = read_words(stream.read())
    assert len(shown) > 50
    assert read_words(draw(record_scene())) == shown, "run make picture"
