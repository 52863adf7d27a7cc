//! Skills, prompt templates and themes, as extensions see them.

use becket_js::HostError;
use serde::Serialize;
use serde_json::{Value, json};

use super::board::Board;
use super::host::json_of;
use crate::host_call::{CommandInfo, Mode, SourceInfo};
use crate::shelf::RunShelf;
use crate::{Resources, ShownTheme};

/// What is drawn with where nobody has chosen.
const USUAL_THEME: &str = "dark";

type Answer = Result<String, HostError>;

/// What can be called by name, as commands.
pub fn commands(shelf: &RunShelf) -> Vec<CommandInfo> {
    shelf.look(|resources| {
        let templates = resources.templates.iter();
        let templates = templates.map(|template| {
            let name = template.name.clone();
            command(name, &template.description, "prompt", &template.source)
        });
        let skills = resources.skills.iter();
        let skills = skills.map(|skill| command(skill.command(), &skill.description, "skill", &skill.source));
        templates.chain(skills).collect()
    })
}

fn command(name: String, description: &str, source: &'static str, from: &SourceInfo) -> CommandInfo {
    CommandInfo {
        name,
        description: Some(description.to_owned()),
        source,
        location: Some(match from.scope {
            "temporary" => "path",
            scope => scope,
        }),
        path: Some(from.path.clone()),
        source_info: from.clone(),
    }
}

/// The themes there are.
pub fn themes(board: &Board) -> Answer {
    look(board, |resources| {
        let themes = resources.themes.iter();
        let shown: Vec<ShownTheme<'_>> = themes.map(|theme| theme.shown_without_colours()).collect();
        json_of(&shown)
    })
}

/// One of them; the one that things are drawn with where none is named.
pub fn theme(board: &Board, name: Option<&str>) -> Answer {
    let chosen = || board.stage().and_then(|stage| stage.shelf.chosen_theme());
    let name = name.map(ToOwned::to_owned).or_else(chosen);
    let name = name.as_deref().unwrap_or(USUAL_THEME);
    look(board, |resources| {
        json_of(&resources.theme(name).map(|theme| theme.shown()))
    })
}

/// Chooses one, where there is something to draw.
pub fn set_theme(board: &Board, name: &str) -> Value {
    let is_there = |resources: &Resources| json_of(&resources.theme(name).is_some());
    if look(board, is_there).as_deref() != Ok("true") {
        return failed(&format!("Theme not found: {name}"));
    }
    match board.mode() {
        Mode::Tui => {
            if let Some(stage) = board.stage() {
                stage.shelf.choose_theme(name);
            }
            json!({"success": true})
        }
        Mode::Rpc => failed("Theme switching not supported in RPC mode"),
        Mode::Json | Mode::Print => failed("UI not available"),
    }
}

fn failed(error: &(impl Serialize + ?Sized)) -> Value {
    json!({"success": false, "error": error})
}

/// Before there is an agent nothing lies anywhere.
fn look(board: &Board, look: impl FnOnce(&Resources) -> Answer) -> Answer {
    match board.stage() {
        Some(stage) => stage.shelf.look(look),
        None => look(&Resources::default()),
    }
}
