//! The walks of the guide, of the README and of the first hour: their files are written, their commands are run, and
//! what they show is what is said.

use std::process::Command;
use std::time::Instant;

use testkit::Room;

use crate::{repository_file, room};

/// A block of code in the page.
struct Block {
    language: String,
    /// The file as which the page says to save it.
    file: Option<String>,
    lines: Vec<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut file = None;
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                open = Some(Block {
                    language: language.to_owned(),
                    file: file.take(),
                    lines: Vec::new(),
                });
            }
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {
                let named = line.strip_prefix("Save this as `");
                let named = named.and_then(|rest| rest.strip_suffix("`:"));
                file = named.map(ToOwned::to_owned).or(file);
            }
        }
    }
    blocks
}

#[test]
fn every_command_of_the_guide_says_what_the_guide_shows() {
    let room = room();
    room.write("build/precious", "x");
    let page =
        std::fs::read_to_string(repository_file("docs/guide/workbench.md")).expect("the guide is there");
    let commands = walk(&room, &page);
    assert!(commands >= 7, "{commands} commands were run");
    assert_eq!(room.read("build/precious"), "x");
}

#[test]
fn the_walk_of_the_readme_says_what_it_shows() {
    let room = room();
    let file = |name: &str| std::fs::read_to_string(repository_file(name)).expect("it is there");
    room.write("first-hook.toml", file("examples/first-hook.toml"));
    let page = file("README.md");
    let (_, walked) = page
        .split_once("## Two minutes with it")
        .expect("the README has it");
    let (walked, _) = walked.split_once("\n## ").expect("it ends");
    assert_eq!(walk(&room, walked), 5);
}

/// What stands before the seconds that the commands of a task take.
const TAKES: &str = "Takes ";

/// The variable that has the times of the first hour written anew.
const MEASURE: &str = "BECKET_MEASURE";

#[test]
fn every_command_of_the_first_hour_says_what_the_page_shows_and_its_time_is_told() {
    if !testkit::needs("git") {
        return;
    }
    let room = room();
    let file = repository_file("docs/first-hour.md");
    let page = std::fs::read_to_string(&file).expect("the page is there");
    let mut tasks = page.split("\n## ");
    let mut measured = vec![tasks.next().unwrap_or_default().to_owned()];
    for task in tasks {
        let title = task.lines().next().unwrap_or_default();
        let told: Vec<&str> = task.lines().filter(|line| line.starts_with(TAKES)).collect();
        let [told] = told[..] else {
            panic!("{title}: one line says what it takes, not {told:?}");
        };
        let began = Instant::now();
        assert!(walk(&room, task) > 0, "{title}: no command was run");
        let seconds = format!("{TAKES}{:.1} s.", began.elapsed().as_secs_f64());
        let number = told.strip_prefix(TAKES).and_then(|rest| rest.strip_suffix(" s."));
        let number: Option<f64> = number.and_then(|number| number.parse().ok());
        assert!(number.is_some_and(|number| number > 0.0), "{title}: {told}");
        measured.push(task.replacen(told, &seconds, 1));
    }
    assert_eq!(measured.len(), 11, "ten tasks");
    if std::env::var_os(MEASURE).is_some() {
        std::fs::write(file, measured.join("\n## ")).expect("the page can be written");
    }
}

/// Does what a page says; how many commands that were.
fn walk(room: &Room, page: &str) -> usize {
    let mut commands = 0;
    for Block {
        language,
        file,
        lines,
    } in blocks(page)
    {
        if let Some(file) = &file {
            room.write(file, lines.join("\n"));
        } else if language == "toml" {
            let name = lines[0].strip_prefix("# ").expect("a file begins with its name");
            room.write(name, lines.join("\n"));
        }
        if language != "console" {
            continue;
        }
        let mut said = String::new();
        for line in &lines {
            let Some(command) = line.strip_prefix("$ becket ") else {
                assert!(said.contains(line.trim()), "`{line}` is not among:\n{said}");
                continue;
            };
            commands += 1;
            said = run(room, command);
        }
    }
    commands
}

fn run(room: &Room, command: &str) -> String {
    let prepared = room.command(["--version"]);
    let line = format!("\"$BECKET\" {command}");
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &line])
        .current_dir(room.work())
        .env_clear()
        .env("BECKET", prepared.get_program());
    for (name, value) in prepared.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    let output = shell.output().expect("a shell can be started");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}
