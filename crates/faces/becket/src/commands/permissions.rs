//! `becket permissions`: the stored allow rules of each project.

use becket_run::stored_rules::StoredRules;
use becket_system::{CliError, Exit, Folders, Surroundings, harmless};
use serde_json::json;

use crate::args::PermissionsCommand;
use crate::options::Options;
use crate::printing::print;

/// A stored rule with its number in the list.
struct Numbered {
    number: usize,
    rule: String,
    of: StoredRules,
    /// Whether the rule belongs to the current project.
    here: bool,
}

/// Lists the stored rules, or removes one.
pub fn run(
    options: &Options,
    command: Option<PermissionsCommand>,
    surroundings: &Surroundings,
) -> Result<Exit, CliError> {
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let here = StoredRules::of_project(&folders);
    let mut all = Vec::new();
    for of in StoredRules::of_all(&folders).map_err(CliError::failed)? {
        for rule in of.read().map_err(CliError::failed)? {
            all.push(Numbered {
                number: all.len() + 1,
                rule,
                here: of == here,
                of: of.clone(),
            });
        }
    }
    match command.unwrap_or(PermissionsCommand::List) {
        PermissionsCommand::List if options.run.json => list_json(&all)?,
        PermissionsCommand::List if all.is_empty() => {
            surroundings
                .remark("no rules are stored; a question about a call offers one if there is a safe one");
        }
        PermissionsCommand::List => list(&all)?,
        PermissionsCommand::Remove { which } => {
            let Numbered { rule, of, .. } = find(&all, &which)?;
            of.remove(rule).map_err(CliError::failed)?;
            surroundings.remark(&format!("removed `{rule}` of the project {}", of.project));
        }
    }
    Ok(Exit::Answered)
}

fn list(all: &[Numbered]) -> Result<(), CliError> {
    let mut last = None;
    for Numbered {
        number,
        rule,
        of,
        here,
    } in all
    {
        if last != Some(of) {
            let mark = if *here { "* " } else { "  " };
            let head = format!("{mark}{}, in {}", of.project, of.file.display());
            print(&format!("{}\n", harmless(&head)))?;
            last = Some(of);
        }
        print(&format!("{number:>5}  {}\n", harmless(rule)))?;
    }
    Ok(())
}

fn list_json(all: &[Numbered]) -> Result<(), CliError> {
    all.iter().try_for_each(
        |Numbered {
             number,
             rule,
             of,
             here,
         }| {
            let line = json!({
                "number": number,
                "rule": rule,
                "project": of.project,
                "file": of.file,
                "current": here,
            });
            print(&format!("{line}\n"))
        },
    )
}

/// The rule of that number, or of that text in this project; else the only one of that text.
fn find<'a>(all: &'a [Numbered], which: &str) -> Result<&'a Numbered, CliError> {
    let unknown =
        |why: String| CliError::usage(why).hint("`becket permissions list` lists them with their numbers");
    if let Ok(number) = which.parse::<usize>() {
        let found = all.iter().find(|known| known.number == number);
        return found.ok_or_else(|| unknown(format!("there is no stored rule {number}")));
    }
    let is_meant = |known: &&Numbered| {
        let short = known.rule.split_once('=').map(|(_, words)| words);
        known.rule == which || short == Some(which)
    };
    let meant: Vec<&Numbered> = all.iter().filter(is_meant).collect();
    match (meant.iter().find(|known| known.here), meant.as_slice()) {
        (Some(known), _) | (None, [known]) => Ok(known),
        (None, []) => Err(unknown(format!("there is no stored rule `{which}`"))),
        (None, _) => Err(unknown(format!(
            "several projects have the rule `{which}`, but not this one"
        ))),
    }
}
