"""What the inspector says beside each field of a message."""

from acpella.inspector.fields import notes_of

UPDATE = {
    "jsonrpc": "2.0",
    "method": "session/update",
    "params": {
        "sessionId": "s1",
        "update": {
            "sessionUpdate": "tool_call",
            "toolCallId": "c1",
            "title": "Edit",
            "kind": "edit",
            "colour": "red",
            "locations": [{"path": "/a", "line": 3}],
        },
    },
}


def test_a_field_is_explained_by_its_sentence_and_its_type() -> None:
    notes = {note.path: note for note in notes_of(UPDATE, "session/update")}
    kind = notes["params.update.kind"]
    assert kind.text.endswith(".") and "edit" in kind.type and kind.type.endswith("optional")
    assert notes["params.sessionId"].type == "text, required"
    assert "1" in notes["params.update.locations[].line"].text  # where counting begins


def test_a_tag_is_explained_by_what_it_stands_for() -> None:
    notes = {note.path: note for note in notes_of(UPDATE, "session/update")}
    assert "tool call" in notes["params.update.sessionUpdate"].text


def test_a_field_that_the_protocol_does_not_have_is_marked() -> None:
    assert [note.path for note in notes_of(UPDATE, "session/update") if note.unknown] == [
        "params.update.colour"
    ]


def test_results_are_explained_by_their_method() -> None:
    notes = {note.path: note for note in notes_of({"id": 1, "result": {"stopReason": "x"}}, "session/prompt")}
    assert "end_turn" in notes["result.stopReason"].type


def test_what_has_no_type_is_not_explained() -> None:
    assert notes_of({"method": "_mine", "params": {"a": 1}}, "_mine") == []
    assert notes_of(["no", "message"], "session/update") == []
