//! The editor: keys and what becomes of the text.

use becket_screen::{
    Action, Area, CURSOR_MARKER, Candidate, Completions, Editor, Key, KeyEffect, normalised,
};
use proptest::prelude::*;

const AREA: Area = Area {
    width: 40,
    height: 24,
    focused: true,
};

/// Types words; a name in brackets is a key: `ab[ctrl+a]c`.
fn press(editor: &mut Editor, keys: &str) -> Vec<KeyEffect> {
    let mut outcomes = Vec::new();
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        let named = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let key = match named {
            Some((name, after)) => {
                rest = after;
                named_key(name)
            }
            None => {
                rest = &rest[first.len_utf8()..];
                Key::read(&first.to_string())
            }
        };
        outcomes.push(editor.key(&key));
    }
    outcomes
}

fn named_key(name: &str) -> Key {
    let mut key = Key::read("\x1b[57441;2u");
    key.name = normalised(name);
    key.text = None;
    key
}

/// The text with `|` where the cursor is.
fn shown(editor: &Editor) -> String {
    let (before, after) = editor.text().split_at(editor.cursor());
    format!("{before}|{after}")
}

// tidy: a table
const EDITS: &[(&str, &str)] = &[
    ("abc", "abc|"),
    ("abc[left][left]x", "ax|bc"),
    ("abc[ctrl+a]x[ctrl+e]y", "xabcy|"),
    ("abc[home][right][right]x", "abx|c"),
    ("日本[left]x", "日x|本"),
    ("e\u{301}x[left][left]y", "y|e\u{301}x"),
    ("abc[backspace]", "ab|"),
    ("abc[ctrl+a][delete]", "|bc"),
    ("abc[ctrl+a][ctrl+d]", "|bc"),
    ("one two three[ctrl+w]", "one two |"),
    ("one two three[alt+b][alt+b]x", "one x|two three"),
    ("one two[ctrl+a][alt+f]x", "onex| two"),
    ("one.two[ctrl+w]", "one.|"),
    ("one.two[ctrl+w][ctrl+w]", "one|"),
    ("one two[ctrl+a][alt+d]", "| two"),
    ("one two[ctrl+u]", "|"),
    ("one two[alt+b][ctrl+k]", "one |"),
    ("one two[ctrl+w][ctrl+w][ctrl+y]", "one two|"),
    ("one two[ctrl+a][alt+d][alt+d][ctrl+y]", "one two|"),
    ("one[ctrl+u]two[ctrl+u][ctrl+y][alt+y]", "one|"),
    ("one[ctrl+u]two[ctrl+u][ctrl+y][alt+y][alt+y]", "two|"),
    ("ab[ctrl+t]", "ba|"),
    ("abc[left][left][ctrl+t]", "ba|c"),
    ("one[shift+enter]two", "one\ntwo|"),
    ("one[alt+enter]two[ctrl+j]x", "one\ntwo\nx|"),
    ("one\\[enter]two", "one\ntwo|"),
    ("one[ctrl+j]two[ctrl+a][backspace]", "one|two"),
    ("one[ctrl+j]two[up]x", "onex|\ntwo"),
    ("one[ctrl+j]two[up][home][down]x", "one\nx|two"),
    (
        "long line[ctrl+j]x[ctrl+j]long line[up][up]!",
        "long line!|\nx\nlong line",
    ),
    ("one[ctrl+j]two[ctrl+u][ctrl+u]", "one|"),
    ("one[ctrl+j]two[up][end][ctrl+k]", "one|two"),
    ("one two[ctrl+-]", "one|"),
    ("one two[ctrl+-][ctrl+-]", "|"),
    ("one two[ctrl+-][ctrl+-][ctrl+alt+-]", "one|"),
    ("one[ctrl+w][ctrl+-]", "one|"),
];

#[test]
fn keys_edit_as_in_a_shell() {
    for (keys, wanted) in EDITS {
        let mut editor = Editor::default();
        editor.render(AREA);
        press(&mut editor, keys);
        assert_eq!(shown(&editor), *wanted, "{keys}");
    }
}

#[test]
fn a_jump_goes_to_the_character_that_follows() {
    let mut editor = Editor::default();
    editor.set_text("a-b-c");
    press(&mut editor, "[ctrl+a]");
    editor.key(&Key::read("\x1d"));
    press(&mut editor, "-");
    assert_eq!(shown(&editor), "a|-b-c");
    editor.key(&Key::read("\x1d"));
    press(&mut editor, "-");
    assert_eq!(shown(&editor), "a-b|-c");
    editor.key(&Key::read("\x1b\x1d"));
    press(&mut editor, "a");
    assert_eq!(shown(&editor), "|a-b-c");
}

#[test]
fn enter_hands_the_text_over_and_the_program_says_which_keys_do() {
    let mut editor = Editor::default();
    assert_eq!(
        press(&mut editor, "hi[enter]").pop(),
        Some(KeyEffect::Submitted("hi".into()))
    );
    assert_eq!(editor.text(), "");
    editor.bind("alt+enter", Some(Action::Submit));
    assert_eq!(
        press(&mut editor, "ho[alt+enter]").pop(),
        Some(KeyEffect::Submitted("ho".into()))
    );
    editor.bind("enter", None);
    assert_eq!(press(&mut editor, "x[enter]").pop(), Some(KeyEffect::Ignored));
    // A key that means nothing here may mean something to the program.
    for name in ["escape", "ctrl+c", "ctrl+g", "f1"] {
        assert_eq!(editor.key(&named_key(name)), KeyEffect::Ignored, "{name}");
    }
    editor.bind("ctrl+c", Some(Action::Clear));
    assert_eq!(editor.key(&named_key("ctrl+c")), KeyEffect::Taken);
    assert_eq!(editor.text(), "");
    for name in ["ctrl+c", "ctrl+d"] {
        assert_eq!(
            editor.key(&named_key(name)),
            KeyEffect::Ignored,
            "nothing stands there: {name}"
        );
    }
}

#[test]
fn a_large_paste_is_a_marker_until_it_is_handed_over() {
    let mut editor = Editor::default();
    let text: String = (0..120).map(|line| format!("line {line}\n")).collect::<String>() + "end";
    press(&mut editor, "see ");
    editor.key(&Key::pasted(&text));
    press(&mut editor, "!");
    assert_eq!(editor.text(), "see [paste #1 +121 lines]!");
    assert_eq!(editor.expanded(), format!("see {text}!"));
    // The marker is one unit.
    press(&mut editor, "[left][left]x");
    assert_eq!(shown(&editor), "see x|[paste #1 +121 lines]!");
    press(&mut editor, "[right][backspace]");
    assert_eq!(shown(&editor), "see x|!");
    press(&mut editor, "[ctrl+-]");
    assert_eq!(
        press(&mut editor, "[enter]").pop(),
        Some(KeyEffect::Submitted(format!("see x{text}!")))
    );
    editor.key(&Key::pasted(&"y".repeat(1001)));
    assert_eq!(editor.text(), "[paste #1 1001 chars]");
    editor.clear();
    editor.key(&Key::pasted("two\r\nlines\x1b[A\x07"));
    assert_eq!(editor.text(), "two\nlines[A");
}

#[test]
fn earlier_entries_come_back() {
    let mut editor = Editor::default();
    for entry in ["first", "second one", "third"] {
        editor.history.add(entry).expect("in memory");
    }
    press(&mut editor, "draft[up]");
    assert_eq!(editor.text(), "third");
    press(&mut editor, "[up][up]");
    assert_eq!(editor.text(), "first");
    press(&mut editor, "[up]");
    assert_eq!(editor.text(), "first");
    press(&mut editor, "[down][down][down]");
    assert_eq!(editor.text(), "draft");
    // Search: type, again for older ones, Enter takes.
    press(&mut editor, "[ctrl+r]ir");
    assert_eq!(editor.text(), "third");
    assert!(editor.render(AREA)[0].starts_with("(search: ir) third"));
    press(&mut editor, "[ctrl+r]");
    assert_eq!(editor.text(), "first");
    press(&mut editor, "[ctrl+r]");
    assert_eq!(editor.text(), "first");
    assert_eq!(press(&mut editor, "[enter]"), [KeyEffect::Taken]);
    assert_eq!(shown(&editor), "first|");
    press(&mut editor, "[ctrl+r]zzz");
    assert!(editor.render(AREA)[0].contains("not found: zzz"));
    press(&mut editor, "[escape]");
    assert_eq!(editor.text(), "first");
}

fn candidates(values: &[&str]) -> Vec<Candidate> {
    let candidate = |value: &&str| Candidate {
        value: value.to_string(),
        ..Candidate::default()
    };
    values.iter().map(candidate).collect()
}

#[test]
fn completion_is_asked_for_and_chosen_from_a_list() {
    let mut editor = Editor::default();
    press(&mut editor, "see al[tab]");
    let request = editor.take_request().expect("Tab asks");
    assert!(request.forced && request.text == "see al" && request.cursor == 6);
    let offer = |values: &[&str]| Completions {
        prefix: "al".into(),
        candidates: candidates(values),
        submits: false,
    };
    editor.offer(request.id, offer(&["alpha", "alpine"]));
    assert_eq!(editor.render_offer(AREA), ["→ \x1b[0;1malpha\x1b[0m", "  alpine"]);
    press(&mut editor, "[down][enter]!");
    assert_eq!(shown(&editor), "see alpine!|");
    // A single candidate is taken at once; an answer that is too late is not.
    press(&mut editor, "[ctrl+u]al[tab]");
    let request = editor.take_request().expect("Tab asks");
    editor.offer(request.id, offer(&["alpha"]));
    assert_eq!(shown(&editor), "alpha|");
    press(&mut editor, "[ctrl+u]al[tab]");
    let late = editor.take_request().expect("Tab asks");
    press(&mut editor, "x");
    editor.offer(late.id, offer(&["alpha"]));
    assert_eq!(shown(&editor), "alx|");
    assert_eq!(editor.render_offer(AREA), Vec::<String>::new());
}

#[test]
fn words_with_a_trigger_are_completed_while_they_are_typed() {
    let mut editor = Editor::default();
    editor.triggers = vec!['/', '@'];
    press(&mut editor, "plain");
    assert_eq!(editor.take_request(), None);
    press(&mut editor, " @s");
    let request = editor.take_request().expect("a trigger asks");
    assert!(!request.forced);
    editor.clear();
    press(&mut editor, "/mo");
    let request = editor.take_request().expect("a trigger asks");
    let completions = Completions {
        prefix: "/mo".into(),
        candidates: candidates(&["/model "]),
        submits: true,
    };
    editor.offer(request.id, completions);
    assert_eq!(editor.render_offer(AREA).len(), 1);
    assert_eq!(
        press(&mut editor, "[enter]").pop(),
        Some(KeyEffect::Submitted("/model ".into()))
    );
    press(&mut editor, "/m");
    let request = editor.take_request().expect("a trigger asks");
    editor.offer(
        request.id,
        Completions {
            prefix: "/m".into(),
            candidates: candidates(&["/model", "/more"]),
            submits: true,
        },
    );
    // Nothing is taken from a list that no longer fits the text.
    press(&mut editor, "x");
    assert_eq!(
        press(&mut editor, "[enter]").pop(),
        Some(KeyEffect::Submitted("/mx".into()))
    );
    press(&mut editor, "/m");
    let request = editor.take_request().expect("a trigger asks");
    editor.offer(
        request.id,
        Completions {
            prefix: "/m".into(),
            candidates: candidates(&["/model"]),
            submits: true,
        },
    );
    assert_eq!(press(&mut editor, "[escape]"), [KeyEffect::Taken]);
    assert_eq!(editor.render_offer(AREA).len(), 0);
}

#[test]
fn long_lines_are_broken_between_words() {
    let mut editor = Editor::default();
    editor.look.prompt = "> ".into();
    editor.look.continuation = "  ".into();
    editor.set_text("the quick brown fox");
    let area = Area { width: 14, ..AREA };
    let lines = editor.render(area);
    assert_eq!(lines, ["> the quick ", &format!("  brown fox{CURSOR_MARKER}")]);
    press(&mut editor, "[up]!");
    assert_eq!(shown(&editor), "the quick!| brown fox");
    // A text that is too high is scrolled to the cursor.
    editor.set_text(&(0..30).map(|line| format!("{line}\n")).collect::<String>());
    let lines = editor.render(area);
    assert_eq!(lines.len(), 7);
    assert!(lines[6].contains(CURSOR_MARKER));
}

proptest! {
    /// Whatever is pressed, the cursor stays between characters, and everything can be undone.
    #[test]
    fn any_keys_can_be_undone(
        keys in prop::collection::vec(prop::sample::select(vec![
            "a", "b", " ", ".", "日", "\u{301}", "[left]", "[right]", "[backspace]", "[delete]", "[ctrl+w]",
            "[alt+d]", "[ctrl+k]", "[ctrl+u]", "[ctrl+y]", "[alt+y]", "[ctrl+j]", "[up]", "[down]", "[home]",
            "[end]", "[ctrl+t]", "[alt+b]", "[alt+f]", "[pageUp]",
        ]), 0..40),
        width in 3..20usize,
    ) {
        let mut editor = Editor::default();
        let area = Area { width, ..AREA };
        for key in &keys {
            press(&mut editor, key);
            prop_assert!(editor.text().is_char_boundary(editor.cursor()));
            let lines = editor.render(area);
            let marks = lines.iter().filter(|line| line.contains(CURSOR_MARKER)).count();
            prop_assert_eq!(marks, 1);
            for line in &lines {
                prop_assert!(becket_screen::width(line) <= width);
            }
        }
        let end = editor.text().to_string();
        for _ in 0..=keys.len() * 2 {
            press(&mut editor, "[ctrl+-]");
        }
        prop_assert_eq!(editor.text(), "");
        for _ in 0..=keys.len() * 4 {
            press(&mut editor, "[ctrl+alt+-]");
        }
        prop_assert_eq!(editor.text(), end);
    }

    /// Simple edits equal those of a simple model.
    #[test]
    fn edits_equal_a_model(
        keys in prop::collection::vec(prop::sample::select(vec![
            "x", "日", " ", "[left]", "[right]", "[backspace]", "[delete]", "[home]", "[end]", "[ctrl+j]",
        ]), 0..60),
    ) {
        let mut editor = Editor::default();
        let (mut text, mut at): (Vec<char>, usize) = (Vec::new(), 0);
        for key in keys {
            press(&mut editor, key);
            let line_start = text[..at].iter().rposition(|c| *c == '\n').map_or(0, |place| place + 1);
            let line_end = text[at..].iter().position(|c| *c == '\n').map_or(text.len(), |place| at + place);
            match key {
                "[left]" => at = at.saturating_sub(1),
                "[right]" => at = (at + 1).min(text.len()),
                "[backspace]" if at > 0 => {
                    at -= 1;
                    text.remove(at);
                }
                "[delete]" if at < text.len() => drop(text.remove(at)),
                "[backspace]" | "[delete]" => {}
                "[home]" => at = line_start,
                "[end]" => at = line_end,
                typed => {
                    let character = if typed == "[ctrl+j]" { '\n' } else { typed.chars().next().unwrap_or(' ') };
                    text.insert(at, character);
                    at += 1;
                }
            }
            let wanted: String = text.iter().collect();
            prop_assert_eq!(editor.text(), &wanted);
            prop_assert_eq!(editor.text()[..editor.cursor()].chars().count(), at);
        }
    }
}
