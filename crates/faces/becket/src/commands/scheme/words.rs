//! Commands of the Scheme prompt: lines that begin with a comma, which no program does.

use std::path::Path;

use becket_chibi::scheme;
use becket_hooks::nearest;
use becket_system::{CliError, Surroundings, harmless};

use super::repl::{Next, Repl, Shown};
use crate::printing::print;

/// A command of the Scheme prompt.
pub struct Command {
    pub name: &'static str,
    arguments: &'static str,
    help: &'static str,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Help,
    Describe,
    Names,
    Libraries,
    Load,
    Quit,
}

const fn command(name: &'static str, arguments: &'static str, what: What, help: &'static str) -> Command {
    Command {
        name,
        arguments,
        help,
        what,
    }
}

/// All commands of the Scheme prompt.
pub const COMMANDS: &[Command] = &[
    command("help", "", What::Help, "list these commands"),
    command("describe", "NAME", What::Describe, "what a name means"),
    command("names", "TEXT", What::Names, "names that contain a text"),
    command(
        "libraries",
        "",
        What::Libraries,
        "the libraries that can be imported",
    ),
    command("load", "FILE", What::Load, "evaluate a file"),
    command("quit", "", What::Quit, "leave; Ctrl-D does the same"),
];

impl Repl {
    /// Runs a command of the Scheme prompt.
    pub(super) async fn command(&self, line: &str, surroundings: &Surroundings) -> Result<Next, CliError> {
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (name, argument) = (name.trim(), argument.trim());
        let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
            let near = nearest(name, COMMANDS.iter().map(|command| command.name));
            let near = near.map_or(String::new(), |near| format!("; did you mean `,{near}`?"));
            surroundings.complain(&format!("there is no `,{name}`{near} `,help` lists the commands"));
            return Ok(Next::GoOn);
        };
        if argument.is_empty() != command.arguments.is_empty() {
            surroundings.complain(&format!("it is `{}`", shown(command)));
            return Ok(Next::GoOn);
        }
        match command.what {
            What::Help => print(&help())?,
            What::Quit => return Ok(Next::Leave),
            What::Names => {
                let names = self.machine.names();
                print_lines(names.into_iter().filter(|name| name.contains(argument)))?;
            }
            What::Libraries => print_lines(self.machine.libraries().into_iter())?,
            What::Describe => {
                // It may be typed as it stands in a program.
                let code = scheme::describing(argument.trim_start_matches('\''));
                self.show(&code, surroundings).await?;
            }
            What::Load => return self.load(Path::new(argument), surroundings).await,
        }
        Ok(Next::GoOn)
    }

    async fn load(&self, file: &Path, surroundings: &Surroundings) -> Result<Next, CliError> {
        let name = file.display().to_string();
        match std::fs::read_to_string(self.cwd.join(file)) {
            Ok(code) => self.evaluate(&code, &name, surroundings).await.map(Shown::next),
            Err(error) => {
                surroundings.complain(&format!("cannot read {name}: {error}"));
                Ok(Next::GoOn)
            }
        }
    }
}

fn shown(command: &Command) -> String {
    format!(",{} {}", command.name, command.arguments)
        .trim_end()
        .to_owned()
}

fn help() -> String {
    let lines = COMMANDS
        .iter()
        .map(|command| format!("{:<16} {}\n", shown(command), command.help));
    let lines: String = lines.collect();
    format!(
        "{lines}Everything else is Scheme, over as many lines as it takes. Tab completes names, Ctrl-C ends a \
         computation or a wait.\n"
    )
}

fn print_lines(lines: impl Iterator<Item = String>) -> Result<(), CliError> {
    let text: String = lines.map(|line| harmless(&line) + "\n").collect();
    print(&text)
}
