//! Sequences of terminals and the names of their keys.

use becket_screen::{Input, Key, Phase, Protocol, Splitter, Waits, normalised};
use proptest::prelude::*;

fn keys(inputs: Vec<Input>) -> Vec<Key> {
    let key = |input| match input {
        Input::Key(key) => Some(key),
        Input::SpeaksKitty => None,
    };
    inputs.into_iter().filter_map(key).collect()
}

fn names(inputs: Vec<Input>) -> Vec<String> {
    keys(inputs).into_iter().map(|key| key.name).collect()
}

// tidy: a table
const NAMES: &[(&str, &str)] = &[
    ("a", "a"),
    ("A", "shift+a"),
    ("é", "é"),
    ("日", "日"),
    ("!", "!"),
    (" ", "space"),
    ("\t", "tab"),
    ("\r", "enter"),
    ("\n", "ctrl+j"),
    ("\x01", "ctrl+a"),
    ("\x1a", "ctrl+z"),
    ("\0", "ctrl+space"),
    ("\x1c", "ctrl+\\"),
    ("\x1d", "ctrl+]"),
    ("\x1f", "ctrl+-"),
    ("\x7f", "backspace"),
    ("\x08", "backspace"),
    ("\x1b[A", "up"),
    ("\x1bOB", "down"),
    ("\x1b[1;5C", "ctrl+right"),
    ("\x1b[1;3D", "alt+left"),
    ("\x1b[1;2A", "shift+up"),
    ("\x1b[1;10A", "shift+super+up"),
    ("\x1b[H", "home"),
    ("\x1b[1~", "home"),
    ("\x1b[4~", "end"),
    ("\x1b[F", "end"),
    ("\x1b[2~", "insert"),
    ("\x1b[3~", "delete"),
    ("\x1b[3;5~", "ctrl+delete"),
    ("\x1b[5~", "pageUp"),
    ("\x1b[6~", "pageDown"),
    ("\x1b[E", "clear"),
    ("\x1bOP", "f1"),
    ("\x1b[[A", "f1"),
    ("\x1b[15~", "f5"),
    ("\x1b[24~", "f12"),
    ("\x1b[1;5R", "ctrl+f3"),
    ("\x1b[Z", "shift+tab"),
    ("\x1b[a", "shift+up"),
    ("\x1bOa", "ctrl+up"),
    ("\x1b[2$", "shift+insert"),
    ("\x1b[7^", "ctrl+home"),
    ("\x1bOM", "enter"),
    ("\x1ba", "alt+a"),
    ("\x1bA", "shift+alt+a"),
    ("\x1b5", "alt+5"),
    ("\x1b ", "alt+space"),
    ("\x1b\r", "alt+enter"),
    ("\x1b\x7f", "alt+backspace"),
    ("\x1b\x03", "ctrl+alt+c"),
    ("\x1b\x1b[A", "alt+up"),
    // xterm's encoding of other keys
    ("\x1b[27;2;13~", "shift+enter"),
    ("\x1b[27;5;99~", "ctrl+c"),
    ("\x1b[27;6;80~", "ctrl+shift+p"),
    // the kitty protocol
    ("\x1b[97u", "a"),
    ("\x1b[97;2u", "shift+a"),
    ("\x1b[97:65;2u", "shift+a"),
    ("\x1b[99;5u", "ctrl+c"),
    ("\x1b[112;6u", "ctrl+shift+p"),
    ("\x1b[13;2u", "shift+enter"),
    ("\x1b[13;3u", "alt+enter"),
    ("\x1b[27u", "escape"),
    ("\x1b[127;5u", "ctrl+backspace"),
    ("\x1b[9;2u", "shift+tab"),
    ("\x1b[57414u", "enter"),
    ("\x1b[57400u", "1"),
    ("\x1b[57419u", "up"),
    ("\x1b[107;9u", "super+k"),
    ("\x1b[99;69u", "ctrl+c"),
    // Ctrl and the Cyrillic letter on the key of c
    ("\x1b[1089::99;5u", "ctrl+c"),
    // a modifier by itself
    ("\x1b[57441;2u", ""),
    ("\x1b[1;1:3A", "up"),
];

#[test]
fn a_sequence_is_one_key_with_its_name() {
    for (raw, name) in NAMES {
        let mut splitter = Splitter::default();
        let mut inputs = splitter.push(raw.as_bytes());
        inputs.extend(splitter.pause());
        let keys = keys(inputs);
        assert_eq!(keys.len(), 1, "{raw:?}: {keys:?}");
        assert_eq!(keys[0].name, *name, "{raw:?}");
        assert_eq!(keys[0].raw, *raw);
        assert_eq!(keys[0], Key::read(raw));
    }
}

#[test]
fn what_a_key_writes_is_known() {
    for (raw, text) in [
        ("a", Some("a")),
        ("A", Some("A")),
        (" ", Some(" ")),
        ("\x1b[97;2u", Some("A")),
        ("\x1b[49:33;2u", Some("!")),
        ("\x1b[1089::99u", Some("с")),
        ("\x1b[27;2;65~", Some("A")),
        ("\x1b[57400u", Some("1")),
        ("\x01", None),
        ("\x1ba", None),
        ("\r", None),
        ("\x1b[99;5u", None),
    ] {
        assert_eq!(Key::read(raw).text.as_deref(), text, "{raw:?}");
    }
}

#[test]
fn repeats_and_releases_are_told_apart() {
    assert_eq!(Key::read("\x1b[97u").phase, Phase::Press);
    assert_eq!(Key::read("\x1b[97;1:1u").phase, Phase::Press);
    assert_eq!(Key::read("\x1b[97;1:2u").phase, Phase::Repeat);
    assert_eq!(Key::read("\x1b[97;1:3u").phase, Phase::Release);
    assert_eq!(Key::read("\x1b[1;1:3B").phase, Phase::Release);
    assert_eq!(Key::read("\x1b[3;1:3~").phase, Phase::Release);
}

#[test]
fn names_are_matched_in_any_order_and_by_their_other_words() {
    let key = Key::read("\x1b[112;6u");
    assert!(key.is("ctrl+shift+p") && key.is("shift+ctrl+p") && key.is("Shift+Ctrl+P"));
    assert!(!key.is("ctrl+p") && !key.is(""));
    assert!(Key::read("\x1b").is("esc") && Key::read("\r").is("return"));
    assert!(Key::read("\x1b[5~").is("pageUp") && Key::read("\x1b[5~").is("pageup"));
    assert!(Key::read("\x1bb").is("alt+b") && Key::read("\x1bb").is("alt+left"));
    assert!(Key::read("+").is("+") && !Key::read("+").is("shift+"));
    assert_eq!(normalised("alt+ctrl++"), "ctrl+alt++");
}

#[test]
fn a_lone_escape_is_a_key_after_a_pause() {
    let mut splitter = Splitter::default();
    assert_eq!(splitter.push(b"\x1b"), []);
    assert_eq!(splitter.waits(), Waits::ForRest);
    assert_eq!(names(splitter.pause()), ["escape"]);
    assert_eq!(splitter.waits(), Waits::Nothing);
    splitter.push(b"\x1b");
    assert_eq!(names(splitter.push(b"[A")), ["up"]);
    // Two of them are not combined with anything.
    let mut twice = names(splitter.push(b"\x1b\x1b"));
    twice.extend(names(splitter.pause()));
    assert_eq!(twice, ["escape", "escape"]);
    let mut cut = names(splitter.push(b"\x1b[1;"));
    cut.extend(names(splitter.pause()));
    assert_eq!(cut[0], "escape");
    assert_eq!(splitter.waits(), Waits::Nothing);
}

#[test]
fn a_paste_is_one_key_whatever_is_in_it() {
    let mut splitter = Splitter::default();
    let inputs = splitter.push(b"x\x1b[200~a\r\nb\x1b[A\x03\x1b[201~y");
    let keys = keys(inputs);
    assert_eq!(keys.len(), 3);
    assert_eq!(keys[1].paste.as_deref(), Some("a\nb\x1b[A\x03"));
    assert_eq!(keys[1].raw, "\x1b[200~a\nb\x1b[A\x03\x1b[201~");
    assert_eq!(keys[2].name, "y");
    // A paste that never ends is over after a pause.
    splitter.push(b"\x1b[200~left");
    assert_eq!(splitter.waits(), Waits::ForPaste);
    assert_eq!(splitter.pause().len(), 1);
    assert_eq!(splitter.waits(), Waits::Nothing);
}

#[test]
fn answers_and_the_mouse_are_no_keys() {
    for raw in [
        "\x1b[<35;20;5m",
        "\x1b[<0;1;1M",
        "\x1b[M abc",
        "\x1b]11;rgb:0/0/0\x07",
        "\x1b]11;rgb:0/0/0\x1b\\",
        "\x1bP>|tmux 3.3a\x1b\\",
        "\x1b_Gi=1;OK\x1b\\",
        "\x1b[?62;c",
        "\x1b[6;20;10t",
        "\x1b[I",
        "\x1b[O",
    ] {
        let raw = raw.replace("\x1b[M abc", "\x1b[M ab");
        let mut splitter = Splitter::default();
        assert_eq!(
            names(splitter.push(format!("{raw}z").as_bytes())),
            ["z"],
            "{raw:?}"
        );
    }
    assert_eq!(Splitter::default().push(b"\x1b[?1u"), [Input::SpeaksKitty]);
}

#[test]
fn with_the_kitty_protocol_mapped_keys_mean_shift_enter() {
    let mut splitter = Splitter::default();
    splitter.protocol = Protocol::Kitty;
    assert_eq!(names(splitter.push(b"\x1b\r\n")), ["shift+enter", "shift+enter"]);
}

proptest! {
    /// Wherever reads cut the bytes, the keys are the same.
    #[test]
    fn cuts_do_not_matter(
        places in prop::collection::vec(0..NAMES.len(), 1..12),
        cuts in prop::collection::vec(0..60usize, 0..6),
    ) {
        // A lone Escape depends on timing, not on bytes.
        let sequences: Vec<&str> = places.iter().map(|place| NAMES[*place].0).collect();
        let whole = sequences.concat().into_bytes();
        let expected: Vec<Key> = sequences.iter().map(|raw| Key::read(raw)).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < whole.len()).collect();
        cuts.sort_unstable();
        let mut splitter = Splitter::default();
        let mut seen = Vec::new();
        let mut start = 0;
        for cut in cuts.into_iter().chain([whole.len()]) {
            seen.extend(keys(splitter.push(&whole[start..cut])));
            start = cut;
        }
        prop_assert_eq!(seen, expected);
    }

    /// No input can make the splitter panic or wait for ever.
    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut splitter = Splitter::default();
        splitter.push(&bytes);
        splitter.pause();
        prop_assert_eq!(splitter.waits(), Waits::Nothing);
    }
}
