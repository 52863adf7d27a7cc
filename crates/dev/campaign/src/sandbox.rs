//! Ways out of the sandbox, put together at random: a target, a way to it, and a program that goes there.

use testkit::Room;

use crate::round::{Campaign, Round, ensure};

pub const CAMPAIGN: Campaign = Campaign {
    name: "sandbox",
    promise: "A confined command reads no key and changes nothing outside of its project, by any detour.",
    round,
};

/// What nothing in the sandbox may read.
const SECRET: &str = "s3cret-canary";

/// Files with the secret that nothing may read or change, below the room.
const TARGETS: &[&str] = &[
    "home/.ssh/id_ed25519",
    "home/.aws/credentials",
    "home/.config/becket/config.toml",
    "work/.env",
    "work/sub/.env",
];

/// Ways to a file `T`; each ends in a shell that has it as `$F`.
// tidy: a table
const WAYS: &[&str] = &[
    "F=T",
    "F=/proc/self/root/T",
    "F=/proc/$$/root/T",
    "F=/../../..T",
    "F=/dev/../T",
    "ln -s T l; F=l",
    "ln -s / r; F=r/T",
    "ln -f T h 2>/dev/null; F=h",
    "cp -a T c 2>/dev/null; F=c",
    "mv T m 2>/dev/null; F=m",
    "exec 9<T; F=/dev/fd/9",
    "mkdir -p d; mount --bind ${PWD}/.. d 2>/dev/null; F=T",
    "cd /proc/1/cwd 2>/dev/null; F=/proc/1/root/T",
    "tar cf t.tar T 2>/dev/null; tar xOf t.tar > o 2>/dev/null; F=o",
    "unshare -Urm true 2>/dev/null; F=T",
];

/// What is done with `$F`.
const DEEDS: &[&str] = &[
    "cat \"$F\"",
    "head -c 100 < \"$F\"",
    "while read -r l; do echo \"$l\"; done < \"$F\"",
    "dd if=\"$F\" bs=64 count=1",
    "python3 -c 'import sys; print(open(sys.argv[1]).read())' \"$F\"",
    "grep -r . \"$F\"",
    "sort \"$F\"",
    "echo changed >> \"$F\"",
    "echo changed > \"$F\"",
    "rm -f \"$F\"",
    "truncate -s 0 \"$F\"",
    "dd if=/dev/zero of=\"$F\" bs=1 count=1 conv=notrunc",
    "sed -i s/s3cret/changed/ \"$F\"",
    "chmod 777 \"$F\"",
    "python3 -c 'import sys; open(sys.argv[1], \"a\").write(\"changed\")' \"$F\"",
];

/// Programs around a line.
const AROUND: &[&str] = &[
    "L",
    "sh -c 'eval \"$LINE\"'",
    "setsid sh -c \"$LINE\"",
    "env -i PATH=$PATH sh -c \"$LINE\"",
    "(L) &  wait",
];

fn round(round: &mut Round<'_>) -> Result<(), String> {
    let room = round.room();
    for target in TARGETS {
        room.write(&format!("../{target}"), format!("# {SECRET}\n"));
    }
    room.write("becket.toml", "# settings\n");
    if !can_confine(&room) {
        round.skip("the sandbox", "a kernel with Landlock and user namespaces");
        std::thread::sleep(std::time::Duration::from_secs(1));
        return Ok(());
    }
    for _ in 0..10 {
        let target = *round.random.choose(TARGETS);
        let path = room.home().with_file_name(target);
        let way = round
            .random
            .choose(WAYS)
            .replace('T', &path.display().to_string());
        let line = format!("{way}; {}", round.random.choose(DEEDS));
        let around = round
            .random
            .choose(AROUND)
            .replace('L', "eval \"$LINE\"")
            .replace("$eval \"$LINE\"INE", "$LINE");
        let quoted = line.replace('\'', "'\\''");
        let script = format!("export LINE='{quoted}'; {around}");
        let run = room.run([
            "--sandbox",
            "workspace",
            "sandbox",
            "run",
            "--",
            "sh",
            "-c",
            &script,
        ]);
        round.count("detours", 1);
        let said = format!("{}{}", run.stdout, run.stderr);
        ensure!(!said.contains(SECRET), "{script}: the secret was read: {run:#?}");
        let now = std::fs::read_to_string(&path).unwrap_or_default();
        ensure!(
            now == format!("# {SECRET}\n"),
            "{script}: {target} is now {now:?}: {run:#?}"
        );
    }
    Ok(())
}

fn can_confine(room: &Room) -> bool {
    let shown = room.run(["--json", "--sandbox", "workspace", "sandbox", "explain"]);
    shown.code == 0 && shown.events().iter().any(|shown| shown["namespaces"] == true)
}
