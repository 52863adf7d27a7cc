//! The programs that a shell command uses, of those that its text names.
//!
//! Anything unknown is left out: names that are made at run time, and text for other programs.

use std::collections::BTreeSet;

use becket_trust::follow::look;

/// Builtins of `sh`, `bash` and `zsh`.
const BUILTINS: &[&str] = &[
    ". : [ [[ alias bg bind break builtin caller cd command compgen complete continue declare dirs disown",
    "echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout",
    "mapfile nocorrect noglob popd printf pushd pwd read readarray readonly repeat return set shift shopt",
    "source suspend test time times trap true type typeset ulimit umask unalias unset wait",
];

/// What a command uses.
#[derive(Debug, Default)]
pub struct Used {
    /// The programs, each once, in the order of their names. A program that the command itself looks for first
    /// (`command -v name`) is not among them: its author knows that it may be missing.
    pub programs: BTreeSet<String>,
    /// The files that the command sources, as written.
    pub sourced: Vec<String>,
    /// Whether the command sets `PATH` itself.
    pub sets_path: bool,
}

/// The programs that a command uses.
pub fn used(script: &str) -> Used {
    let seen = look(script);
    let is_builtin = |name: &str| {
        BUILTINS
            .iter()
            .flat_map(|names| names.split(' '))
            .any(|other| other == name)
    };
    let is_used = |name: &String| is_program(name) && !seen.known.contains(name) && !is_builtin(name);
    Used {
        programs: seen
            .programs
            .iter()
            .filter(|name| is_used(name))
            .cloned()
            .collect(),
        sourced: seen.sourced,
        sets_path: seen.sets_path,
    }
}

/// Whether a name can be looked up. A relative path depends on a folder that is known only at run time.
fn is_program(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "/._+-[".contains(letter);
    let is_path = name.contains('/');
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(plain)
        && (!is_path || name.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{look, used};

    fn names(script: &str) -> String {
        used(script).programs.into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_script_may_end_in_the_middle_of_a_word() {
        for script in [". a\\", "source \\", "cat <<A\n\\", "echo \"$(. b\\"] {
            used(script);
        }
    }

    // tidy: a table
    #[test]
    fn names_stand_where_commands_begin() {
        let table = [
            ("jq -r .a", "jq"),
            (
                "INPUT=$(cat)\nCMD=$(echo \"$INPUT\" | jq -r '.tool.cmd // \"\"')",
                "cat jq",
            ),
            ("LEN=$(echo \"$X\" | jq . | wc -c | tr -d ' ')", "jq tr wc"),
            ("echo \"[$(date)] x\" >> /tmp/a.log", "date"),
            ("a; b && c || d & e | f", "a b c d e f"),
            (
                "if grep -q x; then sed s/a/b/; elif awk 1; else perl -e 1; fi",
                "awk grep perl sed",
            ),
            ("while read -r l; do node x; done < file", "node"),
            ("for f in one two; do stat \"$f\"; done", "stat"),
            ("until ping -c1 host; do sleep 1; done", "ping sleep"),
            ("! curl x", "curl"),
            ("{ tee a; }", "tee"),
            ("(cd /tmp && tar xf y)", "tar"),
            ("X=1 Y=\"a b\" make all", "make"),
            ("x=`hostname`", "hostname"),
            ("echo `uname -a | cut -c1`", "cut uname"),
            ("# notify-send x\necho hi # osascript", ""),
            ("echo 'jq is; not | run'", ""),
            ("echo \"jq; $(id -u) not\"", "id"),
            ("cat <<EOF\njq not\nEOF\nsort x", "cat sort"),
            ("cat <<-'EOF' | uniq\n\trm x\n\tEOF\nls", "cat ls uniq"),
            ("cat <<< \"$x\"", "cat"),
            (
                "case \"$CMD\" in\n  rm*|sudo*) logger x ;;\n  (ls) find . ;;\n  *) exit 0 ;;\nesac\ndate",
                "date find logger",
            ),
            ("case $x in a) b;; esac; c", "b c"),
            ("log() { gzip x; }\nlog hi", "gzip"),
            ("function say { espeak x; }; say hi", "espeak"),
            ("exec python3 x.py", "python3"),
            ("env A=1 ruby x", "env ruby"),
            ("timeout 5 curl x", "curl timeout"),
            ("xargs -n 1 rm < list", "rm xargs"),
            ("sudo -n systemctl x", "sudo systemctl"),
            ("sudo -u root id; xargs -I {} mv {} y", "id mv sudo xargs"),
            ("x=`hostname` && echo `date` | nl", "date hostname nl"),
            ("echo \"`uname`\" | rev", "rev uname"),
            ("command -v jq >/dev/null && jq .", ""),
            (
                "if ! command -v notify-send >/dev/null 2>&1; then exit 0; fi; notify-send x",
                "",
            ),
            ("which osascript && osascript -e x || say y", "say which"),
            ("[ -f x ] && [[ $a == jq && -n $b ]] && test -d y", ""),
            ("[[ $a =~ ^(rm|dd) ]] && shred x", "shred"),
            ("2>/dev/null stat x", "stat"),
            ("ls >out 2>&1", "ls"),
            ("ls &>out", "ls"),
            ("n=$((1 + $(nproc) * (2 + 3))); ((n > 2)) && lscpu", "lscpu nproc"),
            ("a=(jq curl) && echo ${a[0]:-$(tac x)}", "tac"),
            ("/usr/bin/env python3", "/usr/bin/env python3"),
            ("/opt/tool x; ./local y; ~/bin/z; \"$HOME/q\"", "/opt/tool"),
            ("$TOOL x; \"$(which_tool)\" y", "which_tool"),
            ("diff <(sort a) <(sort b)", "diff sort"),
            ("echo a\\\n  jq", ""),
            ("osascript -e 'display \"x\"' 2>/dev/null || true", "osascript"),
            ("echo \"${X:-`whoami`}\"", "whoami"),
            ("a|b|&c", "a b c"),
            ("read a < <(jq .x)", "jq"),
            ("'jq' . ; \"curl\" x", "curl jq"),
            ("time make", "make"),
            ("", ""),
            ("echo 'open", ""),
            ("echo \"$(open", "open"),
        ];
        let wrong = table
            .iter()
            .filter(|(script, expected)| names(script) != *expected);
        let wrong: Vec<_> = wrong.map(|(script, _)| (script, names(script))).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn files_that_are_sourced_and_a_path_of_its_own_are_seen() {
        let script = ". \"$BECKET_HOOK_DIR/lib.sh\"; source \"$(dirname \"$0\")/more.sh\" x; check";
        let found = used(script);
        assert_eq!(
            found.sourced,
            ["\"$BECKET_HOOK_DIR/lib.sh\"", "\"$(dirname \"$0\")/more.sh\""]
        );
        assert!(!found.sets_path);
        for script in [
            "PATH=\"$X/bin:$PATH\" tool",
            "export PATH=$PATH:/opt/x",
            "env PATH=/a tool",
        ] {
            assert!(used(script).sets_path, "{script}");
        }
    }

    /// A program whose path is absolute, so that it is a program to `used` and a file to trust.
    const TOOL: &str = "/opt/tool";

    /// Constructs with a command in them, each of which runs it.
    // tidy: a table
    const RUNS: &[fn(&str) -> String] = &[
        |run| run.to_owned(),
        |run| format!("true; {run}"),
        |run| format!("{{ {run}\n}}"),
        |run| format!("( {run}\n)"),
        |run| format!("! {run}"),
        |run| format!("if {run}\nthen :; fi"),
        |run| format!("if :; then :; else\n{run}\nfi"),
        |run| format!("while {run}\ndo break; done <in"),
        |run| format!("until :; do {run}\ndone"),
        |run| format!("for x in a 'b c'; do {run}\ndone"),
        |run| format!("for ((i = 0; i < 1; i++)); do {run}\ndone"),
        |run| format!("for x do {run}\ndone"),
        |run| format!("select x in a; do {run}\nbreak; done"),
        |run| format!("case a in (b|c) ;; a) {run}\n;; esac"),
        |run| format!("case a in *) {run}\n;& b) ;; esac"),
        |run| format!("case $({run}\n) in a) ;; esac"),
        |run| format!("f() {{ {run}\n}}"),
        |run| format!("function f {{ {run}\n}}"),
        |run| format!("f() if :; then {run}\nfi"),
        |run| format!("[[ -n $({run}\n) && a == b ]]"),
        |run| format!("[ -n \"$({run}\n)\" ]"),
        |run| format!("(( 1 + $({run}\n) ))"),
        |run| format!("x=$({run}\n)"),
        |run| format!("x[0]=$({run}\n)"),
        |run| format!("x=(a $({run}\n))"),
        |run| format!("x=1 y=\"$({run}\n)\" true"),
        |run| format!("echo \"a ${{x:-$({run}\n)}}\""),
        |run| format!("echo ${{x#'}}'$({run}\n)}}"),
        |run| format!("echo $((1 + $({run}\n)))"),
        |run| format!("echo a >$({run}\n)"),
        |run| format!("cat <({run}\n)"),
        |run| format!("tee >({run}\n) 2>&1"),
        |run| format!("cat <<< \"$({run}\n)\""),
        |run| format!("cat <<E{0}\nit's \"$({run}\n)\nE{0}\n", run.len()),
        |run| format!("cat <<-E{0} | sort\n\t${{x:-$({run}\n)}}\n\tE{0}\n", run.len()),
        |run| format!("true | {run}"),
        |run| format!("true |&\n {run}"),
        |run| format!("true && {run}"),
        |run| format!("true ||\n# it's\n{run}"),
        |run| format!("2>/dev/null {run}"),
        |run| format!("x=1 env {run}"),
        |run| format!("timeout -k 1 5 {run}"),
        |run| format!("time {run}"),
        |run| format!("coproc {run}"),
        |run| format!("eval {}", quoted(run)),
        |run| format!("bash -c {}", quoted(run)),
        |run| format!("trap {} EXIT", quoted(run)),
        |run| format!("bash <<'E{0}'\n{run}\nE{0}\n", run.len()),
        |run| {
            format!(
                "echo `{}`",
                run.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$")
            )
        },
    ];

    /// Constructs in which a text is not a command.
    const DOES_NOT_RUN: &[fn(&str) -> String] = &[
        |run| format!("true # {}", run.replace('\n', " ")),
        |run| format!("echo {}", quoted(run)),
        |run| format!("cat <<'E{0}'\n{run}\nE{0}\n", run.len()),
    ];

    fn quoted(text: &str) -> String {
        format!("'{}'", text.replace('\'', "'\\''"))
    }

    /// Whether `used` and trust see the tool, and whether trust reports that it does not see everything.
    fn seen(script: &str) -> (bool, bool, bool) {
        let followed = look(script).followed;
        let is_followed = followed.uses.iter().any(|used| used.path == Path::new(TOOL));
        (
            used(script).programs.contains(TOOL),
            is_followed,
            !followed.open.is_empty(),
        )
    }

    #[test]
    fn check_and_trust_see_the_same_command_in_every_construct() {
        for run in RUNS {
            let script = format!("{}\ntrue 'b'", run(TOOL));
            assert_eq!(seen(&script), (true, true, false), "{script}");
        }
        for construct in DOES_NOT_RUN {
            let script = construct(TOOL);
            assert_eq!(seen(&script), (false, false, false), "{script}");
        }
    }

    proptest! {
        /// If a script is not read as a whole, trust says so; check reports nothing that trust does not see.
        #[test]
        fn check_and_trust_agree_about_constructs_in_constructs(
            runs in prop::collection::vec(prop::sample::select(RUNS), 1..6),
            text in prop::option::of(prop::sample::select(DOES_NOT_RUN)),
        ) {
            let inner = text.map_or(TOOL.to_owned(), |text| text(TOOL));
            // Keywords are ordinary words after a redirection or a program.
            let script = runs.iter().rev().fold(inner, |script, run| run(&format!("env true; {script}")));
            let (checked, followed, is_open) = seen(&script);
            prop_assert_eq!(checked, followed, "{}", script);
            prop_assert!(is_open || checked == text.is_none(), "{}", script);
        }

        #[test]
        fn check_says_nothing_that_trust_does_not_see(
            text in "(/opt/tool|[a-z$(){}\\[\\]`\"'\\\\;|&<>#=! \n\t-]){0,80}",
        ) {
            let (checked, followed, _) = seen(&text);
            prop_assert!(followed || !checked);
        }
        #[test]
        fn it_ends_on_any_text(text in "[a-z$(){}\\[\\]`\"'\\\\;|&<>#=! \n\t-]{0,200}") {
            used(&text);
        }

        #[test]
        fn depth_is_bounded(count in 0_usize..4000) {
            used(&"$(".repeat(count));
            used(&"(a ".repeat(count));
            used(&"\"$(`".repeat(count));
            used(&"${a:-".repeat(count));
        }
    }
}
