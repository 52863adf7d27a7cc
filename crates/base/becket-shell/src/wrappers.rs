//! Programs and builtins that run the command after their options.

/// A wrapper with the words after it that are not the command: the letters of its options with a value, its long
/// options with a value, and how many operands come before the command.
type Wrapper = (&'static str, &'static str, &'static str, usize);

const WRAPPERS: &[Wrapper] = &[
    ("builtin", "", "", 0),
    ("busybox", "", "", 0),
    ("chronic", "", "", 0),
    ("command", "", "", 0),
    ("doas", "uC", "", 0),
    ("env", "uC", "--unset --chdir", 0),
    ("exec", "a", "", 0),
    ("ionice", "cnpPu", "--class --classdata --pid --pgid --uid", 0),
    ("nice", "n", "--adjustment", 0),
    ("nocorrect", "", "", 0),
    ("noglob", "", "", 0),
    ("nohup", "", "", 0),
    (
        "parallel",
        "adjnCDEILNPSs",
        "--arg-file --colsep --delay --jobs --joblog --results --timeout",
        0,
    ),
    ("repeat", "", "", 1),
    ("setsid", "", "", 0),
    ("stdbuf", "ioe", "--input --output --error", 0),
    (
        "strace",
        "abeEIoOpPsSuUX",
        "--output --trace --env --user --attach",
        0,
    ),
    (
        "sudo",
        "CDghpRrTtUu",
        "--user --group --host --prompt --chdir --chroot --role --type --close-from",
        0,
    ),
    ("time", "fo", "--format --output", 0),
    ("timeout", "ks", "--kill-after --signal", 1),
    ("unbuffer", "", "", 0),
    ("unshare", "SGRw", "--setuid --setgid --root --wd", 0),
    (
        "xargs",
        "adEILnPs",
        "--arg-file --delimiter --max-args --max-procs --max-chars",
        0,
    ),
];

/// Whether the program with this name runs the command after its options.
pub fn is_wrapper(name: &str) -> bool {
    wrapper(name).is_some()
}

fn wrapper(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name)
}

/// The index of the command among the arguments of a wrapper, which is their number if there is none; `None` if `name`
/// is not a wrapper. An argument that is known only at run time is an empty text.
pub fn command_start(name: &str, arguments: &[&str]) -> Option<usize> {
    let &(_, letters, names, mut operands) = wrapper(name)?;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        at += match argument.strip_prefix('-') {
            Some("-") => {
                at += 1;
                break;
            }
            Some(_) if names.split(' ').any(|name| name == *argument) => 2,
            Some(option) if takes_next(option, letters) => 2,
            Some(_) => 1,
            None if is_setting(argument) => 1,
            None if operands > 0 => {
                operands -= 1;
                1
            }
            None => break,
        };
    }
    Some((at + operands).min(arguments.len()))
}

/// Whether the value of a short option, the last in its word, is the next word.
fn takes_next(option: &str, letters: &str) -> bool {
    let valued = option.find(|letter| letters.contains(letter));
    !option.starts_with('-') && valued.is_some_and(|at| at + 1 == option.len())
}

/// Whether an argument reads `NAME=value`, as after `env` and `sudo`.
fn is_setting(argument: &str) -> bool {
    let length = crate::name_length(argument);
    length > 0 && argument[length..].starts_with('=')
}
