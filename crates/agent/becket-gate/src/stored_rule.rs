//! Allow rules that the user stores at a question, for a project: which one is offered, and which ones are accepted.
//!
//! Such a rule counts in every later session without another look, so it is narrower than a rule that the user writes
//! into the configuration. About a command it is either the whole command, or its first words and `…`, which stands for
//! further plain words: no options, no paths that lead out of the directory, nothing that a shell would change. So what
//! the user saw is what decides, and the rest can only be operands. For programs that run other programs, no words say
//! what will happen, and there is no rule.
//!
//! Options are never covered by `…`, since no list of dangerous options would be complete. The gate checks every rule
//! that comes back from a front end, also one that it has offered itself, and stored files are checked when they are
//! read: front ends, programs and text editors may all be wrong.

use becket_shell::is_runner;

use crate::rules::{FURTHER_WORDS, RuledCall, Rules};
use crate::url_policy::JudgedUrl;

/// Keeps the rules that the user stores for a project.
pub trait RuleKeeper: Send + Sync + std::fmt::Debug {
    /// The place of the stored rules, as shown to the user.
    fn place(&self) -> String;

    /// Stores a rule. The error says why it could not.
    fn keep(&self, rule: &str) -> Result<(), String>;
}

/// The rule that can be stored for a call; `None` if there is no safe one.
pub(crate) fn offered(call: RuledCall<'_>) -> Option<String> {
    let rules = match call.tool_name {
        "shell" => about_command(call.arguments.get("command")?.as_str()?),
        "fetch" => call.web.and_then(about_host).into_iter().collect(),
        _ => Vec::new(),
    };
    rules.into_iter().find(|rule| read(rule, call).is_ok())
}

/// A rule that the user wrote, if it may be stored and covers the call. The error says why not.
pub(crate) fn read(text: &str, call: RuledCall<'_>) -> Result<String, String> {
    let text = text.trim();
    let text = match text.strip_suffix(" ...") {
        Some(words) => format!("{words}{FURTHER_WORDS}"),
        None => text.to_owned(),
    };
    let is_whole = text.starts_with(&format!("{}:", call.tool_name));
    let rule = match call.tool_name {
        "shell" if !is_whole => format!("shell:command={text}"),
        _ => text,
    };
    check(&rule)?;
    let rules = Rules::parse(&[], std::slice::from_ref(&rule), &[])?;
    match rules.allowing(call) {
        Some(_) => Ok(rule),
        None => Err(format!("the rule `{rule}` does not cover this call")),
    }
}

/// Checks that a rule may be stored; the error says why not.
pub fn check(rule: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("the rule `{rule}` cannot be stored: {why}"));
    if let Some(url) = rule.strip_prefix("fetch:url=") {
        let host = url.strip_suffix("/*").and_then(|origin| origin.split_once("://"));
        let is_host = |host: &str| !host.is_empty() && !host.contains(['*', '?', '[', '{', '/', '@']);
        return match host {
            Some(("http" | "https", host)) if is_host(host) => Ok(()),
            _ => wrong("a rule about addresses must name one host, as in `fetch:url=https://example.com/*`"),
        };
    }
    let Some(command) = rule.strip_prefix("shell:command=") else {
        return wrong(
            "only a rule about a command or a host can be stored, as in `shell:command=cargo test …`",
        );
    };
    let words: Vec<&str> = command
        .strip_suffix(FURTHER_WORDS)
        .unwrap_or(command)
        .split(' ')
        .collect();
    if !words.iter().all(|word| is_inert(word)) {
        return wrong("a shell would not take its words literally");
    }
    if runs_others(&words) {
        return wrong("the program runs other programs; put such a rule into your settings if you want it");
    }
    if command.ends_with(FURTHER_WORDS) && destroys(words[0]) {
        return wrong(
            "the program destroys what its arguments name; only the complete command can be stored",
        );
    }
    Ok(())
}

/// The rules that would allow a command, the most useful one first.
fn about_command(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split(' ').collect();
    let fixed = fixed_words(&words).map(|fixed| words[..fixed].join(" ") + FURTHER_WORDS);
    let rules = fixed.into_iter().chain([command.to_owned()]);
    rules.map(|words| format!("shell:command={words}")).collect()
}

/// How many words of a known program's call determine what it does: the program, its subcommand, and all up to the last
/// option with the word behind it, which may be the option's value.
fn fixed_words(words: &[&str]) -> Option<usize> {
    let (_, subcommands) = known(words)?;
    let least = 1 + usize::from(!subcommands.is_empty());
    let last_option = words.iter().rposition(|word| word.starts_with('-'));
    let fixed = last_option.map_or(least, |place| least.max(place + 2));
    Some(fixed.min(words.len()))
}

/// The rule about the host of an address on the open internet.
fn about_host(web: &JudgedUrl) -> Option<String> {
    let origin = web.url().origin().ascii_serialization();
    web.class().is_none().then(|| format!("fetch:url={origin}/*"))
}

/// Whether a word means itself to every shell, and to a glob.
fn is_inert(word: &str) -> bool {
    let inert = |character: char| character.is_alphanumeric() || "_-./:=,+@%".contains(character);
    !word.is_empty() && word.chars().all(inert)
}

type Known = (&'static str, &'static [&'static str]);

fn known(words: &[&str]) -> Option<&'static Known> {
    KNOWN.iter().find(|(program, _)| Some(program) == words.first())
}

/// The names by which a program may be listed: without its folder, without a version, and as the family of `mkfs.ext4`.
fn names_of(program: &str) -> [&str; 3] {
    let program = program.rsplit('/').next().unwrap_or_default();
    let unversioned = program.trim_end_matches(|character: char| "0123456789.-".contains(character));
    let family = program.split('.').next().unwrap_or_default();
    [program, unversioned, family]
}

/// Whether a program removes, overwrites or stops what its arguments name.
fn destroys(program: &str) -> bool {
    let names = names_of(program);
    let mut listed = DESTROY.iter().flat_map(|names| names.split(' '));
    listed.any(|name| names.contains(&name))
}

/// Whether the words of a command do not tell what will run.
fn runs_others(words: &[&str]) -> bool {
    let names = names_of(words[0]);
    let [program, unversioned, _] = names;
    let is_named = |name: &&str| names.contains(name);
    // `A=b program` runs the program with another environment; `.` reads a script.
    let is_odd = words[0].contains('=') || unversioned.is_empty();
    let unknown_subcommand = || match known(&[program]) {
        Some((_, [])) | None => false,
        Some((_, subcommands)) => !words.get(1).is_some_and(|word| subcommands.contains(word)),
    };
    is_odd
        || names.iter().any(|name| is_runner(name))
        || RUN_OTHERS
            .iter()
            .flat_map(|names| names.split(' '))
            .any(|name| is_named(&name))
        || unknown_subcommand()
}

/// Programs for which further plain words are only further operands. If subcommands are listed, only these are meant;
/// the others run programs, reach other machines, or are aliases for anything.
const KNOWN: &[Known] = &[
    (
        "cargo",
        &[
            "bench", "build", "check", "clippy", "doc", "fmt", "metadata", "test", "tree",
        ],
    ),
    ("docker", &["images", "inspect", "logs", "ps"]),
    (
        "git",
        &[
            "add",
            "blame",
            "branch",
            "describe",
            "diff",
            "log",
            "ls-files",
            "rev-parse",
            "show",
            "status",
        ],
    ),
    ("go", &["build", "list", "test", "vet"]),
    ("kubectl", &["describe", "get", "logs"]),
    ("podman", &["images", "inspect", "logs", "ps"]),
    ("du", &[]),
    ("file", &[]),
    ("ls", &[]),
    ("stat", &[]),
    ("wc", &[]),
];

/// Programs that remove, overwrite or stop what their arguments name.
const DESTROY: &[&str] = &[
    "rm rmdir unlink shred srm wipe wipefs dd mkfs mke2fs mkswap fdisk sfdisk gdisk sgdisk parted",
    "blkdiscard truncate mv cp ln install tee chmod chown chgrp chattr setfacl kill killall pkill skill",
    "shutdown reboot halt poweroff init mount umount swapoff userdel groupdel passwd usermod iptables nft",
    "ip ifconfig modprobe rmmod insmod sysctl trash gio dropdb",
];

/// Programs that run others, besides those that run what another text says (`becket_shell::is_runner`): what they do is
/// in their arguments, in files, or elsewhere.
const RUN_OTHERS: &[&str] = &[
    // What shells have built in.
    "if for while until case function",
    // Reach other machines, or start what was set up elsewhere.
    "systemctl scp sftp rsync telnet nc ncat netcat socat",
    // Interpreters and what has one inside.
    "python-config racket scheme chibi-scheme chicken java javaw jshell kotlin scala groovy clojure ghci runghc",
    "runhaskell stack ocaml R Rscript julia octave gnuplot m4 sed gsed ed ex vi vim nvim emacs nano less more man jq",
    "sqlite psql mysql mariadb redis-cli mongosh swift elixir iex erl escript dart zig nim crystal bc dc",
    // Run what a file of the project names.
    "gmake bmake ninja cmake ctest meson scons just task rake gradle gradlew mvn mvnw ant sbt bazel bazelisk buck",
    "npm npx pnpm pnpx yarn bunx corepack nx turbo lerna grunt gulp composer bundle bundler gem pip pipx uv uvx poetry",
    "pdm hatch tox nox invoke conda mamba micromamba nix nix-shell nix-build guix direnv mise asdf devbox vagrant",
    "ansible ansible-playbook terraform tofu pulumi helm docker-compose earthly act dagger pre-commit husky lefthook",
    // Fetch and send, or unpack with the help of others.
    "curl wget aria ftp tar bsdtar zip unzip cpio dpkg rpm apt apt-get dnf yum pacman apk brew snap flatpak",
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn in_shell<T>(command: &str, then: impl FnOnce(RuledCall<'_>) -> T) -> T {
        let arguments = json!({"command": command});
        then(RuledCall {
            tool_name: "shell",
            called_as: "shell",
            arguments: arguments.as_object().unwrap(),
            path: Some(Path::new("/work")),
            pair: None,
            directory: Path::new("/work"),
            web: None,
        })
    }

    fn offered_for(command: &str) -> Option<String> {
        let rule = in_shell(command, offered)?;
        Some(rule.strip_prefix("shell:command=").unwrap().to_owned())
    }

    #[test]
    fn the_first_words_of_a_known_program_are_offered_and_the_whole_command_of_another() {
        for (command, rule) in [
            ("cargo test", "cargo test …"),
            ("cargo test mod::name", "cargo test …"),
            ("cargo test -p becket", "cargo test -p becket …"),
            (
                "cargo test -p becket --lib name",
                "cargo test -p becket --lib name …",
            ),
            ("cargo clippy --all-targets", "cargo clippy --all-targets …"),
            ("git status", "git status …"),
            ("git diff main..work src/a.rs", "git diff …"),
            ("git show HEAD:src/a.rs", "git show HEAD:src/a.rs"),
            ("go test ./...", "go test ./..."),
            ("ls src", "ls …"),
            ("ls -la", "ls -la …"),
            ("ls /etc", "ls /etc"),
            ("./check.sh --all", "./check.sh --all"),
            ("rm -rf build", "rm -rf build"),
            ("pytest tests/unit", "pytest tests/unit"),
            ("gh pr list", "gh pr list"),
        ] {
            assert_eq!(offered_for(command).as_deref(), Some(rule), "{command}");
        }
    }

    // tidy: a table
    #[test]
    fn nothing_is_offered_for_what_runs_other_programs_or_what_a_shell_would_change() {
        for command in [
            "sh x.sh",
            "bash -c ls",
            "/bin/bash x",
            "env ls",
            "sudo ls",
            "xargs rm",
            "find . -delete",
            "nohup ls",
            "git -c core.pager=x log",
            "git -C elsewhere status",
            "git st",
            "git push",
            "git fetch",
            "git commit",
            "cargo run",
            "cargo xtask tidy",
            "cargo +nightly test",
            "cargo --config x test",
            "cargo",
            "git",
            "npx tsc",
            "npm run build",
            "npm exec x",
            "pnpm i",
            "yarn",
            "python x.py",
            "python3.12 x.py",
            "node x.js",
            "/usr/bin/python3 x.py",
            "ruby x",
            "perl5.36 x",
            "make",
            "make test",
            "just test",
            "docker run x",
            "docker",
            "ssh host ls",
            "timeout 5 ls",
            "time ls",
            "watch ls",
            "eval ls",
            "exec ls",
            "command ls",
            ". x",
            "busybox ls",
            "awk x",
            "sed x",
            "vim x",
            "tar xf x",
            "rsync a b",
            "curl example.com",
            "A=b cargo test",
            "PATH=/tmp cargo test",
            "cargo test; rm x",
            "cargo test && x",
            "cargo test | x",
            "cargo test > x",
            "cargo test $(x)",
            "cargo test `x`",
            "cargo test\nrm x",
            "cargo test &",
            "diff <(x) y",
            "ls *",
            "ls ?",
            "ls [a]",
            "ls {a,b}",
            "ls ~",
            "ls $HOME",
            "ls 'a b'",
            "ls \"a\"",
            "ls a\\b",
            "ls !x",
            "ls #x",
            "ls ^x",
            "cargo  test",
            " cargo test",
            "cargo test ",
            "",
            "\u{a0}ls",
        ] {
            assert_eq!(offered_for(command), None, "{command:?}");
        }
    }

    #[test]
    fn further_words_are_plain_operands_and_nothing_else() {
        let rules = Rules::parse(&[], &["shell:command=cargo test …".into()], &[]).unwrap();
        let covers = |command: &str| in_shell(command, |call| rules.allowing(call).is_some());
        for command in [
            "cargo test",
            "cargo test name",
            "cargo test  a::b c_d",
            "cargo test src/a.rs ./b .",
            "cargo test\ta",
            "cargo test größe",
            "cargo test .hidden/x/",
        ] {
            assert!(covers(command), "{command:?}");
        }
        for command in [
            "cargo testing",
            "cargo test-all",
            "cargo",
            "cargo run test",
            "cargo test --config x",
            "cargo test -q",
            "cargo test -- x",
            "cargo test /etc",
            "cargo test ..",
            "cargo test ../x",
            "cargo test a/../../x",
            "cargo test a//b",
            "cargo test ~",
            "cargo test x=y",
            "cargo test https://x",
            "cargo test https:/x",
            "cargo test a:b",
            "cargo test *",
            "cargo test a*",
            "cargo test {a,b}",
            "cargo test 'a'",
            "cargo test a;b",
            "cargo test a&b",
            "cargo test a|b",
            "cargo test >a",
            "cargo test $A",
            "cargo test `a`",
            "cargo test (a)",
            "cargo test a\nb",
            "cargo test\n",
            "cargo test a\\",
            "X=1 cargo test",
            "sudo cargo test",
            "cargo test !a",
            "cargo test +x",
            "cargo test @x",
        ] {
            assert!(!covers(command), "{command:?}");
        }
    }

    #[test]
    fn further_words_of_what_destroys_are_never_stored() {
        for (command, text) in [
            ("rm -rf build", "rm -rf …"),
            ("rm -rf build", "rm …"),
            ("rm build", "rm ..."),
            ("/bin/rm build", "/bin/rm …"),
            ("mkfs.ext4 disk", "mkfs.ext4 …"),
            ("dd disk", "dd …"),
            ("mv a b", "mv a …"),
            ("kill 12", "kill …"),
            ("chmod 777 a", "chmod 777 …"),
        ] {
            let error = in_shell(command, |call| read(text, call)).unwrap_err();
            assert!(
                error.contains("destroys what its arguments name"),
                "{text}: {error}"
            );
            let whole = in_shell(command, |call| read(command, call));
            assert_eq!(whole, Ok(format!("shell:command={command}")));
            assert_eq!(offered_for(command).as_deref(), Some(command));
        }
        // The limits of offered rules hold for those written by hand as well.
        for (command, text) in [
            ("sudo ls a", "sudo ls …"),
            ("env ls a", "env …"),
            ("find . a", "find . …"),
            ("git -c x log", "git -c x …"),
            ("python3 a.py", "python3 …"),
            ("ls; rm a", "ls; rm …"),
            ("ls | sh", "ls | …"),
            ("ls && rm a", "ls && rm …"),
            ("ls > a", "ls > …"),
            ("ls $(rm a)", "ls $(rm …"),
        ] {
            let edited = in_shell(command, |call| read(text, call));
            assert!(edited.is_err(), "{text}: {edited:?}");
        }
    }

    #[test]
    fn an_edited_rule_must_be_safe_and_cover_the_call() {
        let edited = |text: &str| in_shell("cargo test -p becket name", |call| read(text, call));
        let rule = |words: &str| Ok(format!("shell:command={words}"));
        assert_eq!(edited("cargo test -p …"), rule("cargo test -p …"));
        assert_eq!(
            edited(" cargo test -p becket ... "),
            rule("cargo test -p becket …")
        );
        assert_eq!(
            edited("shell:command=cargo test -p becket name"),
            rule("cargo test -p becket name")
        );
        for (text, why) in [
            ("cargo test …", "does not cover this call"),
            ("cargo build …", "does not cover this call"),
            ("cargo …", "runs other programs"),
            ("…", "cannot be stored"),
            ("", "cannot be stored"),
            ("cargo test *", "a shell would not take its words literally"),
            ("shell", "does not cover this call"),
            ("shell:command=*", "a shell would not take its words literally"),
            ("shell:command=cargo test -p becket …:cwd=/x", "cannot be stored"),
            ("write", "does not cover this call"),
        ] {
            let error = edited(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        for rule in [
            "read",
            "*",
            "*:path=x",
            "write:path=src/*",
            "fetch:url=*",
            "fetch:url=https://*/*",
            "fetch",
            "fetch:url=https://example.com*",
            "fetch:url=https://a@b/*",
            "fetch:url=https:///*",
            "shell",
        ] {
            assert!(check(rule).is_err(), "{rule}");
        }
        check("fetch:url=https://example.com/*").unwrap();
    }

    #[tokio::test]
    async fn the_host_of_an_address_of_the_open_internet_is_offered() {
        let judge = crate::url_policy::UrlJudge::default();
        for (url, rule) in [
            ("https://9.9.9.9/x?y", Some("fetch:url=https://9.9.9.9/*")),
            ("http://9.9.9.9:8080/", Some("fetch:url=http://9.9.9.9:8080/*")),
            ("http://127.0.0.1:7001/", None),
            ("http://169.254.169.254/", None),
        ] {
            let judged = judge.judge(url).await.unwrap();
            let arguments = json!({"url": judged.url().as_str()});
            let call = RuledCall {
                tool_name: "fetch",
                called_as: "fetch",
                arguments: arguments.as_object().unwrap(),
                path: None,
                pair: None,
                directory: Path::new("/work"),
                web: Some(&judged),
            };
            assert_eq!(offered(call).as_deref(), rule, "{url}");
        }
    }
}
