//! The page of pi's API: what of it is there, and which example uses it.

use becket_dialects::pi::{Member, Object, State, api, rows};

use crate::Problem;
use crate::workspace::{SourceFile, Workspace};

const INTRODUCTION: &str = "\
# pi's API

Generated from the table in `crates/becket-dialects/src/pi/api.rs` and from `examples/pi` by `cargo xtask generate`. Do
not edit.

Every member that some version of pi has is there. **works**: it does what pi does. **quiet**: it is taken and has no
effect as long as nothing of pi's screen is there. **not yet**: it can be seen, and throws `not supported by becket yet:
NAME` when it is used. The last column names the extensions under [examples/pi](../examples/pi) that use it.
";

/// The page.
pub fn page(workspace: &Workspace) -> Result<String, Problem> {
    let examples = workspace.files_in("examples/pi", "ts")?;
    let mut page = String::from(INTRODUCTION);
    for object in Object::ALL {
        page.push_str(&format!("\n## {}\n\n", title(*object)));
        page.push_str("| member | state | examples |\n|---|---|---|\n");
        for member in api().iter().filter(|member| member.object == *object) {
            page.push_str(&row(member, &examples));
        }
    }
    page.push_str("\n## Events\n\n| event | examples |\n|---|---|\n");
    for event in rows().iter().map(|row| row.name()) {
        let quoted = format!("\"{event}\"");
        let links = links(&examples, |text| text.contains(&quoted));
        page.push_str(&format!("| `{event}` | {links} |\n"));
    }
    Ok(page)
}

fn title(object: Object) -> &'static str {
    match object {
        Object::Pi => "`pi`",
        Object::Context => "`ctx`",
        Object::ToolContext => "`ctx` of tools, besides",
        Object::CommandContext => "`ctx` of commands, besides",
        Object::Ui => "`ctx.ui`",
        Object::SessionManager => "`ctx.sessionManager`",
        Object::ModelRegistry => "`ctx.modelRegistry`",
    }
}

fn row(member: &Member, examples: &[SourceFile]) -> String {
    let state = match member.state {
        State::Works => "works",
        State::Quiet => "quiet",
        State::Later => "not yet",
    };
    let links = links(examples, |text| member.is_used_in(text));
    format!("| `{}` | {state} | {links} |\n", member.name)
}

/// Links to the examples that fit.
fn links(examples: &[SourceFile], fits: impl Fn(&str) -> bool) -> String {
    let fitting = examples.iter().filter(|example| fits(&example.text));
    let links = fitting.map(|example| {
        let name = example.path.rsplit('/').next().unwrap_or(&example.path);
        format!("[{name}](../{})", example.path)
    });
    links.collect::<Vec<_>>().join(", ")
}
