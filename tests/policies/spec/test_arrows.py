"""Label maps in the short form of a policy, as people write them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadda import LabelMap, PolicySpec
from cadda.exceptions import PolicyFileError

SWAP = {"left": "right", "right": "left"}


@pytest.mark.parametrize(
    "written",
    [
        "{left: right, right: left}",
        "{left:right,right:left}",
        "{ right : left , left : right, }",
        str(SWAP),
        str(LabelMap("channel_symmetry", SWAP).mapping),
        json.dumps(SWAP),
        json.dumps(SWAP, separators=(",", ":")),
        "{left: 'right', \"right\": left}",
    ],
)
@pytest.mark.parametrize("place", ["p=0.5 -> {}", "-> {} p=0.5", "p=0.5->{}", "p=0.5  ->   {}  "])
def test_ways_to_write_a_map(written: str, place: str) -> None:
    entry = f"channel_symmetry {place.replace('{}', written)}"
    spec = PolicySpec.from_text(f"sign_flip p=1 > {entry}# exchanged -> {{a: b}} > {{")
    mirrored = spec.entries[1]
    assert mirrored.probability == 0.5
    assert mirrored.label_map == SWAP


@pytest.mark.parametrize(
    "name",
    [
        "left fist",
        "p=1",
        "go w=2 m=3",
        "a: b",
        "a, b",
        "a > b | c # d -> e",
        "{x}",
        "it's",
        "'quoted'",
        'so "called"',
        "\\",
        "a]",
        "[b]",
        "#1",
        "→",
        "ß日本",
        "]#",
    ],
)
def test_any_class_name(name: str) -> None:
    """As JSON has it in a map; below its own name; and as Python prints it."""
    mapping = {name: "rest", "rest": name}
    written = PolicySpec.from_text(f"channel_symmetry p=1 -> {json.dumps(mapping)}")
    assert written.entries[0].label_map == mapping
    assert PolicySpec.from_text(f"channel_symmetry p=1 -> {mapping}") == written
    assert PolicySpec.from_text(written.to_text()) == written
    short = PolicySpec.from_text(
        f"[{json.dumps(name)}]\nchannel_symmetry p=1 -> rest\n"
        f"[rest]\nchannel_symmetry p=1 -> {json.dumps(name)} > sign_flip p=1"
    )
    assert short.class_names == (name, "rest")
    assert short.label_maps == written.label_maps
    assert PolicySpec.from_text(short.to_text()) == short


def test_header_with_a_comment() -> None:
    spec = PolicySpec.from_text("[C#]  # a note [1]\nsign_flip p=1\n['N 2']\nsign_flip p=1")
    assert spec.class_names == ("C#", "N 2")


def test_the_short_form_says_what_each_class_becomes() -> None:
    text = "[6]\nchannel_symmetry p=1 -> 9\n[8]\nchannel_symmetry p=1 -> 8\n"
    text += "[9]\nchannel_symmetry p=0.5 -> 6\n"
    spec = PolicySpec.from_text(text)
    assert [entry.label_map for entry in spec.entries] == [{"6": "9", "8": "8", "9": "6"}] * 3
    assert spec.to_text() == text


def test_two_maps_of_one_operation_are_written_in_full() -> None:
    text = (
        "[a]\nchannel_symmetry p=1 -> {a: b, b: a} | channel_symmetry p=1 -> {a: c, c: a}\n"
        "[b]\nchannel_symmetry p=1 -> {a: b, b: a}\n[c]\nsign_flip p=1"
    )
    spec = PolicySpec.from_text(text)
    assert [str(item) for item in spec.label_maps] == [
        "channel_symmetry (a ↔ b)",
        "channel_symmetry (a ↔ c)",
    ]
    assert PolicySpec.from_text(spec.to_text()) == spec


SHORT = "[left]\nchannel_symmetry p=1 -> right\n[right]\n"
EXAMPLE = "such as `{left: right, right: left}`"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "channel_symmetry p=1 -> {a: b",
            f"line 1: `{{a: b` lacks a closing brace; write a map on one line, {EXAMPLE}.",
        ),
        (
            "channel_symmetry p=1 -> {a: b, b: a} -> {a: b, b: a}",
            "must have one `->` per operation; separate stages by `>`.",
        ),
        ("-> {a: b, b: a}", "line 1: an operation is missing before `->`."),
        ("sign_flip p=1 >\t-> {a: b, b: a}", "line 1: an operation is missing before `->`."),
        ("channel_symmetry p=1 ->", "line 1: `->` must be followed by a class, or by a map"),
        ("channel_symmetry p=1 -> # b", "line 1: `->` must be followed by a class, or by a map"),
        ("channel_symmetry -> p=1", "line 1: `->` must be followed by a class, or by a map"),
        ("channel_symmetry p=1 -> {}", f"line 1: `{{}}` must be pairs of classes, {EXAMPLE}"),
        ("channel_symmetry p=1 -> {a, b}", "line 1: `{a, b}` must be pairs of classes"),
        ("channel_symmetry p=1 -> {a: b: c}", "line 1: `{a: b: c}` must be pairs of classes"),
        ("channel_symmetry p=1 -> {a: }", "line 1: `{a: }` must be pairs of classes"),
        ("channel_symmetry p=1 -> {a -> b}", "line 1: `{a -> b}` must be pairs of classes"),
        ("channel_symmetry p=1 -> {'a: b}", "line 1: `{'a: b}` must be pairs of classes"),
        (
            "channel_symmetry p=1 -> {a: b, a: b}",
            "line 1: a label map must name each class once, got `a` twice.",
        ),
        (
            "channel_symmetry p=1 -> left: right, right: left",
            "line 1: `-> left: right, right: left` must be one class, in quotes if its name has "
            f"punctuation, or pairs of classes in braces, {EXAMPLE}.",
        ),
        ('channel_symmetry p=1 -> "left', 'line 1: `-> "left` must be one class, in quotes if'),
        (
            'channel_symmetry p=1 -> {"a\\q": b, b: a}',
            'line 1: "a\\q" has an unknown escape sequence; write a backslash as `\\\\`.',
        ),
        ('channel_symmetry p=1 -> {"\\ud800": b}', "has an unknown escape sequence"),
        (
            "sign_flip p=1\nchannel_symmetry p=1 -> right",
            "line 2: `-> right` must say what every class becomes, such as `-> {left: right, right"
            ": left}`, or stand below the name of a class.",
        ),
        (
            SHORT + "channel_symmetry p=1 -> lfet",
            "line 4: a label map must name classes of the policy, ['left', 'right'], got `lfet` "
            "(did you mean `left`?).",
        ),
        (
            SHORT + "channel_symmetry p=1",
            "line 2: channel_symmetry: a label map must send the classes that it names to one "
            "another, each to a different one, got {'left': 'right'}; say what 'right' becomes.",
        ),
        (
            SHORT + "channel_symmetry p=1 -> right",
            "got {'left': 'right', 'right': 'right'}; 'right' is the target of two classes.",
        ),
        (
            SHORT + "channel_symmetry p=1 -> left\nchannel_symmetry p=0.5 -> right",
            "line 5: `right` becomes both `left` and `right` by channel_symmetry; write the maps "
            "in full, such as `-> {left: right, right: left}`.",
        ),
        (
            "channel_symmetry p=1 -> {a: a}",
            "line 1: channel_symmetry: a label map must change a class, got {'a': 'a'}; leave it "
            "out, and every class is kept.",
        ),
        (
            "channel_symmetry p=0 -> {a: b, b: a}",
            "line 1: `channel_symmetry p=0 -> {a: b, b: a}`: a label map needs an operation that "
            "is applied, but channel_symmetry has `p` 0.",
        ),
        (
            "sign_flip p=1 | channel_symmetry p=1 w=0 -> {a: b, b: a}",
            "is applied, but channel_symmetry has `w` 0.",
        ),
        (
            "channel_symmetry p=1 -> {a: b, b: a} | channel_symmetry p=0.5 -> {b: a, a: b}",
            "line 1, stage 1: a stage must name each operation only once, or each time with "
            "another label map.",
        ),
        ("channel_symmetry p=1 -> {'*': b, b: '*'}", "a class name is printable text"),
        (
            "channel_symmetry p=2 -> {a: b, b: a}",
            "line 1: `p` of `channel_symmetry p=2 -> {a: b, b: a}` must be at most 1, got 2.0.",
        ),
        (
            "channel_symmetry (a ↔ b) p=1",
            "line 1: `(a` must be p=, m= or w= with a number, such as p=0.5, or follow `->`.",
        ),
        ("x: sign_flip p=1", "line 1: only `w=…` may come before a colon, got `x`."),
        ("[left\nsign_flip p=1", "line 1: `[left` must be a class in brackets on a line of its"),
        ("[left] sign_flip p=1", "line 1: `[left] sign_flip p=1` must be a class in brackets"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(PolicyFileError) as caught:
        PolicySpec.from_text(text)
    assert message in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


TOKENS = [
    *("->", "{", "}", "a", "b", ":", ",", ">", "|", "#", "p=1", "m=", "w=2", '"', "'", "\\", "*"),
    *("channel_symmetry", "sign_flip p=1", "[a]", "[", "]", " ", "\n", "w=1:", "-> {a: b, b: a}"),
]


@given(st.lists(st.sampled_from(TOKENS), max_size=14).map("".join))
def test_whatever_is_written_is_a_policy_or_a_sentence(text: str) -> None:
    try:
        spec = PolicySpec.from_text(text)
    except PolicyFileError as error:
        message = str(error)
        assert message.endswith(".")
        assert "\n" not in message
        assert message.startswith(("line", "the policy"))
    else:
        assert PolicySpec.from_text(spec.to_text()) == spec
