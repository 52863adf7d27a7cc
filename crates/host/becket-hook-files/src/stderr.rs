//! How a program says that it failed: by its exit code, and on standard error.

use becket_hooks::{Cause, Failure};

/// The line of a complaint that names the error: the first one, or the one that stands below or above the calls if an
/// interpreter has printed those.
pub fn error_line(stderr: &str) -> &str {
    let lines = || stderr.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let first = lines().next().unwrap_or_default();
    // Python shows the line of the program first, with its calls or without.
    let is_python = lines().any(|line| line.starts_with("Traceback (most recent call last)"));
    if is_python || first.starts_with("  File \"") {
        return lines().rfind(|line| !line.starts_with(' ')).unwrap_or(first);
    }
    // Node shows the line of the program first, and the calls behind the error.
    let calls = lines().position(|line| line.trim_start().starts_with("at "));
    let before = calls.and_then(|calls| lines().take(calls).filter(|line| names_error(line)).last());
    before.unwrap_or(first)
}

/// The failure of a program that did not run to its end, if its exit code is one by which a shell says so: it could not
/// run a program, or a signal ended one.
pub fn unfinished(code: i32) -> Option<Failure> {
    match code {
        126 | 127 => Some(Failure::new(
            Cause::ExitStatus,
            format!("exit code {code}: the shell could not run a program that the hook uses"),
        )),
        129..=192 => Some(Failure::new(
            Cause::KilledBySignal,
            format!("exit code {code}: signal {}", code - 128),
        )),
        _ => None,
    }
}

/// Whether a line begins with the name of an error, as in `TypeError: x is not a function`.
fn names_error(line: &str) -> bool {
    let name = line.split([':', ' ']).next().unwrap_or_default();
    name.ends_with("Error") || name.ends_with("Exception")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_found_between_the_calls() {
        for (stderr, line) in [
            ("", ""),
            ("\noops\nmore", "oops"),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    x\nNameError: no x\n",
                "NameError: no x",
            ),
            (
                "/a.js:1\nx();\n^\n\nReferenceError: x is not defined\n    at main (/a.js:1:1)\n\nNode.js v22\n",
                "ReferenceError: x is not defined",
            ),
            (
                "  File \"a.py\", line 1\n    def x(:\n          ^\nSyntaxError: invalid syntax\n",
                "SyntaxError: invalid syntax",
            ),
            ("look at this\n  at home", "look at this"),
        ] {
            assert_eq!(error_line(stderr), line, "{stderr}");
        }
    }
}
