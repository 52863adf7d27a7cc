//! Programs and builtins that run what another text says: their arguments, their input, or a script.

use crate::wrappers::is_wrapper;

/// Those that are no wrappers (`wrappers.rs`): what they run does not simply stand behind their options.
const RUNNERS: &[&str] = &[
    // Shells, and what shells have built in.
    "sh bash dash zsh fish ksh mksh ash csh tcsh rbash toybox nu pwsh powershell elvish xonsh",
    "eval source . trap alias enable coproc",
    // Run a program in another way, as another user, or somewhere else.
    "su runuser pkexec find fd chrt taskset nsenter chroot flock watch entr script expect ltrace gdb lldb rr valgrind",
    "perf numactl prlimit systemd-run at batch crontab tmux screen ssh mosh start-stop-daemon setpriv capsh firejail",
    "bwrap fakeroot proot faketime rlwrap sshpass torsocks proxychains dbus-run-session",
    // Interpreters of programming languages.
    "python pypy ipython node nodejs deno bun ruby irb perl raku php lua luajit tclsh wish guile racket awk gawk mawk",
    "nawk osascript",
    // Runs what a file of the project says.
    "make",
];

/// Whether the program with this name runs what another text says, in any version: `python3.12` is `python`.
pub fn is_runner(name: &str) -> bool {
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    // Of `.` nothing would be left.
    let plain = if plain.is_empty() { name } else { plain };
    let is_listed = || {
        RUNNERS
            .iter()
            .flat_map(|names| names.split(' '))
            .any(|runner| runner == plain)
    };
    is_wrapper(plain) || is_listed()
}

#[cfg(test)]
mod tests {
    use super::is_runner;

    #[test]
    fn versions_and_wrappers_count() {
        for name in [
            "sh",
            ".",
            "sudo",
            "pkexec",
            "php",
            "python3",
            "python3.12",
            "lua5.4",
        ] {
            assert!(is_runner(name), "{name}");
        }
        for name in ["git", "npm", "echo", "", "7"] {
            assert!(!is_runner(name), "{name}");
        }
    }
}
