//! What the reader makes of scripts, and that it makes something of every text.

use becket_shell::{Command, End, Kind, Part, Script, Word, command_start, read};
use proptest::prelude::*;

/// Every span of a script.
fn spans(script: &Script) -> Vec<std::ops::Range<usize>> {
    fn parts(list: &[Part], all: &mut Vec<std::ops::Range<usize>>) {
        for part in list {
            match part {
                Part::Commands {
                    span,
                    commands: inner,
                } => {
                    all.push(span.clone());
                    commands(inner, all);
                }
                Part::Variable { parts: inner, .. } | Part::Opaque(inner) => parts(inner, all),
                Part::Literal(_) | Part::Pattern(_) | Part::Script(_) => {}
            }
        }
    }
    fn commands(list: &[Command], all: &mut Vec<std::ops::Range<usize>>) {
        for command in list {
            all.push(command.span.clone());
            let targets = command.redirects.iter().map(|redirect| &redirect.target);
            for word in command.assignments.iter().chain(&command.words).chain(targets) {
                all.push(word.span.clone());
                parts(&word.parts, all);
            }
            commands(&command.body, all);
        }
    }
    let mut all = Vec::new();
    commands(&script.commands, &mut all);
    for document in &script.documents {
        all.push(document.span.clone());
        parts(&document.parts, &mut all);
    }
    all
}

#[test]
fn a_command_has_its_words_redirections_and_what_stands_behind_it() {
    let text = "A=1 B+=2 tool 'a b'\"c\" $x >out 2>&1 | sort <<E && { :; }\nbody\nE\n";
    let script = read(text);
    assert_eq!(script.unreadable, None);
    let [tool, sort, group] = script.commands.as_slice() else {
        panic!("{script:?}");
    };
    let names: Vec<&str> = tool
        .assignments
        .iter()
        .filter_map(|word| Some(word.assignment()?.name))
        .collect();
    assert_eq!(names, ["A", "B"]);
    let words: Vec<Option<&str>> = tool.words.iter().map(Word::literal).collect();
    assert_eq!(words, [Some("tool"), Some("a bc"), None]);
    assert_eq!((tool.redirects.len(), tool.end), (2, End::Pipe));
    assert!(tool.prints_elsewhere() && !sort.prints_elsewhere());
    assert_eq!(&text[script.documents[0].span.clone()], "body\n");
    assert_eq!(
        (sort.end, group.kind, group.body.len()),
        (End::Condition, Kind::Group, 1)
    );
    assert_eq!(&text[tool.span.clone()], "A=1 B+=2 tool 'a b'\"c\" $x >out 2>&1");
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (text, at) in [
        ("a\n'b", 2),
        ("a \"b $(c", 7),
        ("a)", 1),
        ("fi", 0),
        ("a; if b; then c", 5),
        ("a `b", 2),
        ("a\0", 1),
        ("a\r\n", 1),
        ("a (b)", 2),
        ("x=$(cat <<E)\nE\n", 4),
    ] {
        assert_eq!(read(text).unreadable.map(|found| found.at), Some(at), "{text:?}");
    }
    let deep = read(&"$(".repeat(100_000));
    assert_eq!(deep.unreadable.map(|found| found.at), Some(100));
}

#[test]
fn the_command_of_a_wrapper_stands_behind_its_options() {
    for (line, command) in [
        ("sudo -n tool", "tool"),
        ("sudo -nu root tool", "tool"),
        ("sudo -uroot --prompt=x tool", "tool"),
        ("sudo --user root -- tool", "tool"),
        ("env -i -u A B=1 tool", "tool"),
        ("timeout -s KILL 5 tool", "tool"),
        ("timeout -- 5 tool", "tool"),
        ("xargs -0 -n 1 -I{} tool", "tool"),
        ("nice -5 tool", "tool"),
        ("exec", ""),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let start = command_start(words[0], &words[1..]).expect(line);
        assert_eq!(
            words.get(start + 1).copied().unwrap_or_default(),
            command,
            "{line}"
        );
    }
    assert_eq!(command_start("tool", &["a"]), None);
}

proptest! {
    #[test]
    fn every_text_is_read_and_every_span_is_a_text(
        text in "(if |then |fi|case |in |esac|for |do|<<E\n|E\n|[a-z$(){}\\[\\]`\"'\\\\;|&<>#=!*? \n\täß-]){0,120}"
    ) {
        for span in spans(&read(&text)) {
            prop_assert!(text.get(span.clone()).is_some(), "{:?}", span);
        }
    }

    #[test]
    fn depth_is_bounded(count in 0_usize..4000, begin in prop::sample::select(vec![
        "$(", "(a ", "\"$(`", "${a:-", "\"${a#", "if a; then ", "{ ", "[[ ( ", "((", "$((", "f() ", "case a in b) ",
        "<(", "a=(", "x@(",
    ])) {
        read(&begin.repeat(count));
    }
}
