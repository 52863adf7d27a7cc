//! Words of the shell that everybody must know who looks for the programs in a script.

/// Words after which a command begins.
pub const BEFORE_COMMANDS: &[&str] = &[
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time",
];

/// Programs and builtins that run the command behind them.
pub const WRAPPERS: &[&str] = &[
    "builtin", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo",
    "timeout", "xargs",
];
