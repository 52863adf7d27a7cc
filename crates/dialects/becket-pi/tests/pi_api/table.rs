//! Tests that the table of members matches the members that extensions really find. The examples prove with the real
//! program that each works.

use std::collections::BTreeSet;
use std::path::Path;

use becket_pi::services::ExecuteTool;
use becket_pi::{Member, Object, Support, api};
use serde_json::{Map, Value, json};

use crate::room::{self, Loaded, factory};

/// The expression for each object in the extension of these tests.
fn reached(object: Object) -> &'static str {
    match object {
        Object::Pi => "pi",
        Object::Context => "seen.event",
        Object::ToolContext => "seen.tool",
        Object::CommandContext => "seen.command",
        Object::Ui => "seen.event.ui",
        Object::SessionManager => "seen.event.sessionManager",
        Object::ModelRegistry => "seen.event.modelRegistry",
    }
}

/// An extension that holds all of its contexts.
async fn holding(expression: &str) -> Loaded {
    let body = format!(
        r#"const seen: any = {{}};
        const execute = async (...all: any[]) => {{ seen.tool = all[4]; return {{ content: [] }}; }};
        pi.registerTool({{ name: "t", description: "x", execute }});
        pi.registerCommand("c", {{ handler: async (_: string, ctx: any) => {{ seen.command = ctx; }} }});
        pi.on("probe", async (_: any, ctx: any) => {{ seen.event = ctx; return {expression}; }});"#
    );
    let loaded = factory(&body, &[("is_idle", json!(true))]).await;
    let arguments = Map::new();
    loaded
        .invoke(ExecuteTool {
            tool: "t".into(),
            call_id: "1".into(),
            arguments,
        })
        .await;
    let command = becket_pi::services::RunCommand {
        name: "c".into(),
        arguments: String::new(),
    };
    loaded.invoke(command).await;
    loaded
}

fn names(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().expect("a list").iter();
    list.map(|name| name.as_str().expect("a name").to_string())
        .collect()
}

#[tokio::test]
async fn every_member_is_in_the_table_and_nothing_else() {
    for object in Object::ALL {
        let place = reached(*object);
        let found = holding(&format!("Object.getOwnPropertyNames({place})"))
            .await
            .probe()
            .await;
        let mut declared: BTreeSet<String> = api()
            .iter()
            .filter(|member| member.object == *object && member.state != Support::Later)
            .map(|member| member.name.to_string())
            .collect();
        if matches!(object, Object::ToolContext | Object::CommandContext) {
            let base = api()
                .into_iter()
                .filter(|member| member.object == Object::Context);
            declared.extend(base.map(|member| member.name.to_string()));
        }
        assert_eq!(names(&found), declared, "{object:?}");
    }
}

#[tokio::test]
async fn what_is_not_there_yet_is_absent_so_that_extensions_can_look() {
    for member in api().iter().filter(|member| member.state == Support::Later) {
        let (place, name) = (reached(member.object), member.name);
        let seen = holding(&format!("[typeof {place}.{name}, '{name}' in {place}]"))
            .await
            .probe()
            .await;
        assert_eq!(seen, json!(["undefined", false]), "{place}.{name}");
    }
}

/// The texts of all examples.
fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/pi");
    let files = std::fs::read_dir(folder)
        .expect("the examples are there")
        .map(|file| file.expect("a file"));
    let files = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "ts"));
    files
        .map(|file| {
            (
                file.file_name().to_string_lossy().into_owned(),
                std::fs::read_to_string(file.path()).expect("text"),
            )
        })
        .collect()
}

#[tokio::test]
async fn every_example_loads_and_uses_only_what_works() {
    let answers = [
        ("get_flag", json!(true)),
        ("get_active_tools", json!([])),
        ("session_branch", json!([])),
        ("session", json!({ "name": null, "leafId": null })),
    ];
    let examples = examples();
    assert!(examples.len() >= 6);
    for (name, text) in examples {
        let loaded = room::try_load(&text, &answers)
            .await
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let asked = loaded.room.asked("unreadable");
        assert!(
            asked.is_empty() && loaded.room.reports().is_empty(),
            "{name}: {asked:?}"
        );
        let unserved = api().into_iter().filter(|member| member.state == Support::Later);
        let used: Vec<_> = unserved.filter(|member| is_used(member, &text)).collect();
        assert!(used.is_empty(), "{name} uses {used:?}, which does not work yet");
    }
}

/// Whether a text uses a member of its object: `ui.notify`, `sessionManager.getBranch`.
fn is_used(member: &Member, text: &str) -> bool {
    let path = member.object.path();
    let last = path.rsplit('.').next().unwrap_or_default();
    let named = format!("{last}.{}", member.name);
    let mut places = text
        .match_indices(&named)
        .map(|(place, _)| &text[place + named.len()..]);
    places.any(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}
