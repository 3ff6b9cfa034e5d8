"""Progress streams: the id from `aux`, the error inside a good answer."""

import pytest

from images import streams
from images.endpoint import EngineError


def test_the_id_is_taken_from_aux_and_not_from_the_log():
    answer = [
        {"stream": "Successfully built 0123456789ab\n"},
        {"aux": {"ID": "sha256:base"}},
        {"aux": {"ID": "sha256:final"}},
        {"stream": "Successfully tagged x\n"},
    ]

    assert streams.built(answer) == "sha256:final"


def test_log_lines_are_joined_across_entries():
    lines = []
    streams.built([{"stream": "one "}, {"stream": "line\ntwo\n"}, {"aux": {"ID": "sha256:x"}}], lines.append)

    assert lines == ["one line", "two"]


def test_a_line_is_the_program_s_own_without_the_builder_s_colour():
    lines = []
    answer = [{"stream": "\x1b[91mwarning\n\x1b[0m"}, {"stream": "Unpacking bash (5) ...\n"}, {"aux": {"ID": "x"}}]
    streams.built(answer, lines.append)

    assert lines == ["warning", "Unpacking bash (5) ..."]


def test_a_failed_step_shows_the_end_of_its_log():
    answer = [{"stream": f"line {n}\n"} for n in range(40)]
    answer.append({"errorDetail": {"code": 2, "message": "returned a non-zero code: 2"}, "error": "same"})
    with pytest.raises(EngineError, match="non-zero code: 2") as caught:
        streams.built(answer)

    assert "line 39" in caught.value.message
    assert "line 20\n" not in caught.value.message


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("The command '/bin/sh -c x' returned a non-zero code: 137", "with more memory free"),
        ('building at STEP "RUN x": while running runtime: exit status 137', "with more memory free"),
        ("returned a non-zero code: 1370", "mend that step"),
        ("returned a non-zero code: 1", "mend that step"),
        ("write /usr/x: no space left on device", "room on the engine's disk"),
        ("ADD failed: No space left on device", "room on the engine's disk"),
    ],
)
def test_what_helps_depends_on_what_the_step_died_of(said, hint):
    with pytest.raises(EngineError) as caught:
        streams.built([{"errorDetail": {"message": said}}])

    assert hint in caught.value.hint


def test_a_build_that_ends_without_an_image_is_an_error():
    with pytest.raises(EngineError, match="without an image"):
        streams.built([{"stream": "Step 1/1 : FROM scratch\n"}])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([{"errorDetail": {"message": "no such layer"}, "error": "no such layer"}], id="errorDetail"),
        pytest.param([{"error": "no such layer"}], id="error alone"),
        pytest.param(
            [{"stream": "Loaded image: a:b\n"}, {"stream": "Error unpacking image a:b: no such layer\n"}],
            id="containerd store: loaded, but not unpacked",
        ),
    ],
)
def test_a_failure_inside_a_good_answer_is_seen(answer):
    with pytest.raises(EngineError, match="no such layer"):
        streams.loaded(answer)


def test_a_load_that_names_what_it_loaded_is_no_failure():
    answer = iter([{"status": "Loading layer"}, {"stream": "Loaded image: a:b\n"}])

    streams.loaded(answer)

    assert list(answer) == [], "read to its end"


def test_pulled_bytes_are_summed_over_layers():
    seen = []
    streams.pulled(
        [
            {"status": "Pulling fs layer", "id": "a"},
            {"status": "Downloading", "id": "a", "progressDetail": {"current": 10, "total": 100}},
            {"status": "Downloading", "id": "b", "progressDetail": {"current": 5, "total": 50}},
            {"status": "Download complete", "id": "a"},
            {"status": "Pull complete", "id": "c"},
        ],
        lambda *amounts: seen.append(amounts),
    )

    assert seen == [(10, 100), (15, 150), (105, 150)]


def test_a_failed_pull_is_an_error():
    with pytest.raises(EngineError, match="unauthorized"):
        streams.pulled([{"error": "unauthorized"}])
