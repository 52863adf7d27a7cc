//! Untrusted text, made so that it cannot control a terminal or hide something.

/// Makes control characters and invisible ones visible: text from a model, a tool or a hook must not control the
/// terminal, nor look like something else.
pub fn harmless(text: &str) -> String {
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    let visible = std::iter::from_fn(|| {
        let character = characters.next()?;
        let joins = matches!(character, '\u{200c}' | '\u{200d}')
            && [before, *characters.peek().unwrap_or(&' ')].iter().all(is_joined);
        before = character;
        Some(match character {
            '\n' | '\t' => character,
            '\x1b' => '␛',
            character if joins => character,
            character if character.is_control() || is_invisible(character) => '\u{fffd}',
            character => character,
        })
    });
    visible.collect()
}

/// Whether a joiner may stand beside a character: in emoji and in scripts that need it, and in no command.
fn is_joined(character: &char) -> bool {
    !character.is_ascii() && !is_invisible(*character)
}

/// Makes a name visible and keeps it on one line.
pub fn harmless_name(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], "\u{fffd}")
}

/// Makes a text visible and indents its further lines, so that none of them looks like one of becket's own lines.
pub fn harmless_indented(text: &str, indent: &str) -> String {
    harmless(text.trim_end()).replace('\n', &format!("\n{indent}"))
}

/// Whether a character is invisible, breaks lines, or reorders text on the screen, and so can hide what a command does.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_steer_the_terminal() {
        assert_eq!(
            harmless("a\x1b[2Jb\rc\u{202e}d\n\te"),
            "a␛[2Jb\u{fffd}c\u{fffd}d\n\te"
        );
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        for hidden in [
            '\u{200b}',
            '\u{200d}',
            '\u{200f}',
            '\u{ad}',
            '\u{2028}',
            '\u{2029}',
            '\u{2060}',
            '\u{2064}',
            '\u{feff}',
            '\u{2066}',
            '\u{e0041}',
        ] {
            assert_eq!(harmless(&format!("a{hidden}b")), "a\u{fffd}b", "{hidden:?}");
        }
        for seen in ["naïve 日本 🙂 —", "👩\u{200d}👩\u{200d}👧", "می\u{200c}خواهم"] {
            assert_eq!(harmless(seen), seen);
        }
        assert_eq!(harmless("é\u{200d}x \u{200d}"), "é\u{fffd}x \u{fffd}");
    }

    #[test]
    fn a_name_stays_on_its_line_and_a_text_stays_indented() {
        assert_eq!(harmless_name("a\nb\x1bc"), "a\u{fffd}b␛c");
        assert_eq!(harmless_indented("a\nb\n", "  "), "a\n  b");
    }
}
