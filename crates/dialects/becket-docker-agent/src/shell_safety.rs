//! How dangerous a shell command is, by its words: what docker-agent calls a safety label.
//!
//! Words are read generously where they destroy and strictly where they are safe: a command that is put together of
//! several is never called safe, and one that is not known is called unknown.

/// How dangerous a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// The command only looks.
    Safe,
    /// The command destroys something; the words say what.
    Destructive(&'static str),
    /// Nothing is known about the command.
    Unknown,
}

impl Label {
    /// docker-agent's name of the label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Destructive(_) => "destructive",
            Self::Unknown => "unknown",
        }
    }
}

/// Words that a destructive command has, in their order: a program, and then words of which each must follow somewhere.
/// A word that begins with `-` and one letter also stands for that letter among others, as in `-rf`.
const DESTRUCTIVE: &[(&str, &[&str], &str)] = &[
    ("rm", &[], "removes files"),
    ("rmdir", &[], "removes folders"),
    ("shred", &[], "destroys files"),
    ("truncate", &[], "empties files"),
    ("find", &["-delete"], "removes files"),
    ("find", &["-exec"], "runs a command on files"),
    ("dd", &[], "overwrites files or devices"),
    ("mkfs", &[], "formats a device"),
    ("fdisk", &[], "changes partitions"),
    ("parted", &[], "changes partitions"),
    ("wipefs", &[], "wipes a device"),
    ("chmod", &["-R"], "changes permissions of many files"),
    ("chown", &["-R"], "changes owners of many files"),
    ("kill", &[], "ends processes"),
    ("pkill", &[], "ends processes"),
    ("killall", &[], "ends processes"),
    ("shutdown", &[], "stops the machine"),
    ("reboot", &[], "stops the machine"),
    ("halt", &[], "stops the machine"),
    ("poweroff", &[], "stops the machine"),
    ("systemctl", &["stop"], "stops services"),
    ("systemctl", &["disable"], "disables services"),
    ("crontab", &["-r"], "removes scheduled jobs"),
    ("git", &["push", "--force"], "overwrites a remote branch"),
    (
        "git",
        &["push", "--force-with-lease"],
        "overwrites a remote branch",
    ),
    ("git", &["push", "-f"], "overwrites a remote branch"),
    ("git", &["push", "--delete"], "deletes a remote branch"),
    ("git", &["reset", "--hard"], "throws away changes"),
    ("git", &["clean"], "removes files"),
    ("git", &["checkout", "--"], "throws away changes"),
    ("git", &["restore"], "throws away changes"),
    ("git", &["branch", "-D"], "deletes a branch"),
    ("git", &["stash", "drop"], "throws away changes"),
    ("git", &["stash", "clear"], "throws away changes"),
    ("git", &["filter-branch"], "rewrites history"),
    ("docker", &["rm"], "removes containers"),
    ("docker", &["rmi"], "removes images"),
    ("docker", &["prune"], "removes containers, images or volumes"),
    ("docker", &["kill"], "ends containers"),
    ("docker", &["down", "-v"], "removes volumes"),
    ("docker", &["volume", "rm"], "removes volumes"),
    ("kubectl", &["delete"], "deletes resources"),
    ("kubectl", &["drain"], "drains a node"),
    ("helm", &["uninstall"], "removes a release"),
    ("terraform", &["destroy"], "destroys infrastructure"),
    ("terraform", &["apply"], "changes infrastructure"),
    ("aws", &["delete"], "deletes resources"),
    ("npm", &["unpublish"], "removes a published package"),
    ("iptables", &[], "changes the firewall"),
    ("userdel", &[], "removes a user"),
    ("eval", &[], "runs text as a command"),
];

/// Programs that run another command, which is judged in their place.
const WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "nohup", "time", "nice", "exec", "command", "xargs", "timeout", "sh", "bash",
    "zsh", "dash",
];

/// Commands that only look, by their first words.
const SAFE: &[&[&str]] = &[
    &["ls"],
    &["pwd"],
    &["cat"],
    &["head"],
    &["tail"],
    &["wc"],
    &["file"],
    &["stat"],
    &["du"],
    &["df"],
    &["date"],
    &["whoami"],
    &["id"],
    &["uname"],
    &["hostname"],
    &["which"],
    &["echo"],
    &["grep"],
    &["rg"],
    &["ps"],
    &["git", "status"],
    &["git", "log"],
    &["git", "diff"],
    &["git", "show"],
    &["git", "rev-parse"],
    &["docker", "ps"],
    &["docker", "images"],
    &["kubectl", "get"],
    &["go", "version"],
    &["node", "--version"],
];

/// How dangerous a command is.
pub fn label(command: &str) -> Label {
    // Quotes and braces do not hide a word: what stands in them may be run.
    let separate = |letter: char| letter.is_whitespace() || ";&|()`{}<>\"'$\\".contains(letter);
    let words: Vec<&str> = command.split(separate).filter(|word| !word.is_empty()).collect();
    let starts = words
        .iter()
        .enumerate()
        .filter(|(place, _)| *place == 0 || could_start(command, &words, *place));
    for (place, word) in starts {
        let program = word.rsplit('/').next().unwrap_or(word);
        let rest = &words[place + 1..];
        let found = DESTRUCTIVE.iter().find(|(name, needed, _)| {
            let is_program =
                program == *name || program.strip_prefix(name).is_some_and(|end| end.starts_with('.'));
            is_program && follows(rest, needed)
        });
        if let Some((_, _, what)) = found {
            return Label::Destructive(what);
        }
    }
    let is_compound = command.contains([';', '&', '|', '`', '$', '>', '<', '(', '\n', '\\']);
    let is_safe = SAFE.iter().any(|safe| words.starts_with(safe));
    match !is_compound && is_safe {
        true => Label::Safe,
        false => Label::Unknown,
    }
}

/// Whether a command could begin at a word: after a separator or inside quotes, or behind a program that runs others.
fn could_start(command: &str, words: &[&str], place: usize) -> bool {
    let is_wrapped = words[..place].iter().any(|word| {
        let program = word.rsplit('/').next().unwrap_or(word);
        WRAPPERS.contains(&program)
    });
    let word = words[place];
    let offset = word.as_ptr() as usize - command.as_ptr() as usize;
    let before = command[..offset].trim_end_matches([' ', '\t']);
    is_wrapped || before.ends_with(|letter: char| ";&|()`{}\"'$\n\\".contains(letter))
}

/// Whether words follow in their order. A flag of one letter may stand among others.
fn follows(words: &[&str], needed: &[&str]) -> bool {
    let mut words = words.iter();
    needed.iter().all(|needed| {
        words.any(|word| {
            let letter = needed.strip_prefix('-').filter(|letter| letter.len() == 1);
            let among =
                |letter: &str| word.starts_with('-') && !word.starts_with("--") && word[1..].contains(letter);
            word == needed
                || letter.is_some_and(among)
                || word
                    .strip_prefix(needed)
                    .is_some_and(|end| end.starts_with(['=', '-']))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_commands() {
        let table = [
            ("ls -la", "safe"),
            ("git status", "safe"),
            ("git log --oneline", "safe"),
            ("ls; rm -rf /", "destructive"),
            ("rm x", "destructive"),
            ("/bin/rm x", "destructive"),
            ("sudo rm -rf /", "destructive"),
            ("bash -c 'rm -rf build'", "destructive"),
            ("find . -name '*.o' -delete", "destructive"),
            ("git push --force origin main", "destructive"),
            ("git push -uf origin main", "destructive"),
            ("git push origin main", "unknown"),
            ("git reset --hard HEAD", "destructive"),
            ("mkfs.ext4 /dev/sda", "destructive"),
            ("chmod -R 777 /", "destructive"),
            ("docker system prune -a", "destructive"),
            ("aws s3api delete-bucket --bucket x", "destructive"),
            ("echo rm", "safe"),
            ("make", "unknown"),
            ("ls > file", "unknown"),
            ("echo $(rm x)", "destructive"),
            ("", "unknown"),
        ];
        for (command, expected) in table {
            assert_eq!(label(command).name(), expected, "{command}");
        }
    }
}
