//! The walks of the guide and of the README: their files are written, their commands are run, and what they show is
//! what is said.

use std::process::Command;

use testkit::Room;

use crate::{repository_file, room};

/// A block of code in the page: its language and its lines.
fn blocks(page: &str) -> Vec<(String, Vec<String>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, Vec<String>)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => open = Some((language.to_owned(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => {}
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

/// Does what a page says; how many commands that were.
fn walk(room: &Room, page: &str) -> usize {
    let mut commands = 0;
    for (language, lines) in blocks(page) {
        if language == "toml" {
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
