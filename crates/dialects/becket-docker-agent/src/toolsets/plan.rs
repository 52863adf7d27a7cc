//! The toolset `plan`: named texts that all agents share and later sessions find, one JSON file each.
//!
//! The files have docker-agent's own form. Whoever names the revision that it has read does not overwrite a newer one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_agent::tool::Tool;
use becket_tools::{PlainTool, plain_spec};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::kept::{locked, now, read_json, write_json};
use super::words::{schema, told};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(default)]
    content: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    author: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    status: String,
    #[serde(default)]
    revision: u64,
    #[serde(default)]
    updated_at: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    name: String,
    content: String,
    title: Option<String>,
    author: Option<String>,
    status: Option<String>,
    last_known_revision: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetStatus {
    name: String,
    status: String,
    last_known_revision: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    name: String,
    last_known_revision: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

const NAME: (&str, &str, &str) = (
    "name",
    "string",
    "The plan's name: lower-case letters, digits, - and _.",
);
const REVISION: (&str, &str, &str) = (
    "last_known_revision",
    "integer",
    "The revision that you have read; if there is a newer one, nothing changes.",
);
const STATUS: (&str, &str, &str) = ("status", "string", "How far it is, in your own words.");

/// The tools on the plans in a folder, which is made with the first of them.
// tidy: a table
pub(super) fn tools(folder: &Path) -> Vec<Arc<dyn Tool>> {
    let plans = Plans(folder.into());
    let of = || plans.clone();
    let (write, read, list, delete, set, get) = (of(), of(), of(), of(), of(), of());
    let named = || schema(&[NAME], &["name"]);
    let of_write = schema(
        &[
            NAME,
            ("content", "string", "The whole plan; it replaces what was there."),
            ("title", "string", "A title."),
            ("author", "string", "Who writes it."),
            STATUS,
            REVISION,
        ],
        &["name", "content"],
    );
    vec![
        PlainTool::arc(
            plain_spec("write_plan", "Write a plan that all agents share.", of_write),
            move |wanted: Write, _| write.write(wanted),
        ),
        PlainTool::arc(
            plain_spec("read_plan", "Read a plan.", named()),
            move |Named { name }, _| told(&read.get(&name)?),
        ),
        PlainTool::arc(
            plain_spec("list_plans", "List all plans.", schema(&[], &[])),
            move |_: Nothing, _| list.list(),
        ),
        PlainTool::arc(
            plain_spec(
                "delete_plan",
                "Delete a plan.",
                schema(&[NAME, REVISION], &["name"]),
            ),
            move |wanted: Delete, _| delete.delete(&wanted),
        ),
        PlainTool::arc(
            plain_spec(
                "set_plan_status",
                "Say how far a plan is, without writing it again.",
                schema(&[NAME, STATUS, REVISION], &["name", "status"]),
            ),
            move |wanted: SetStatus, _| {
                set.change(&wanted.name, wanted.last_known_revision, |plan| {
                    let mut plan = plan.ok_or_else(|| missing(&wanted.name))?;
                    plan.status = wanted.status.clone();
                    Ok(plan)
                })
                .and_then(|plan| plan.told_status())
            },
        ),
        PlainTool::arc(
            plain_spec("get_plan_status", "Read how far a plan is.", named()),
            move |Named { name }, _| get.get(&name)?.told_status(),
        ),
    ]
}

fn missing(name: &str) -> String {
    format!("there is no plan `{name}`")
}

/// The folder of plans.
#[derive(Clone)]
struct Plans(PathBuf);

impl Plan {
    fn told_status(&self) -> Result<String, String> {
        told(&json!({"name": self.name, "status": self.status, "revision": self.revision}))
    }
}

impl Plans {
    fn file(&self, name: &str) -> Result<PathBuf, String> {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        let is_name = name.starts_with(plain)
            && name.len() <= 100
            && name
                .chars()
                .all(|letter| plain(letter) || matches!(letter, '-' | '_'));
        match is_name {
            true => Ok(self.0.join(format!("{name}.json"))),
            false => Err(format!(
                "`{name}` is no name of a plan: it has lower-case letters, digits, `-` and `_`"
            )),
        }
    }

    fn get(&self, name: &str) -> Result<Plan, String> {
        read_json(&self.file(name)?)?.ok_or_else(|| missing(name))
    }

    /// Changes a plan. An error changes nothing.
    fn change(
        &self,
        name: &str,
        known: Option<u64>,
        change: impl FnOnce(Option<Plan>) -> Result<Plan, String>,
    ) -> Result<Plan, String> {
        let file = self.file(name)?;
        let _lock = locked(&self.0)?;
        let before: Option<Plan> = read_json(&file)?;
        let revision = before.as_ref().map_or(0, |plan| plan.revision);
        check(name, known, revision)?;
        let mut plan = change(before)?;
        plan.revision = revision + 1;
        plan.updated_at = now();
        write_json(&file, &plan)?;
        Ok(plan)
    }

    fn write(&self, wanted: Write) -> Result<String, String> {
        if wanted.content.trim().is_empty() {
            return Err("the content is empty".to_owned());
        }
        let name = wanted.name.clone();
        let plan = self.change(&name, wanted.last_known_revision, |before| {
            let before = before.unwrap_or_default();
            Ok(Plan {
                name: wanted.name,
                content: wanted.content,
                title: wanted.title.unwrap_or(before.title),
                author: wanted.author.unwrap_or(before.author),
                status: wanted.status.unwrap_or(before.status),
                ..before
            })
        })?;
        told(&plan)
    }

    fn delete(&self, wanted: &Delete) -> Result<String, String> {
        let file = self.file(&wanted.name)?;
        let _lock = locked(&self.0)?;
        if let Some(known) = wanted.last_known_revision {
            let plan = self.get(&wanted.name)?;
            check(&wanted.name, Some(known), plan.revision)?;
        }
        match std::fs::remove_file(&file) {
            Ok(()) => told(&json!({"deleted": wanted.name})),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(missing(&wanted.name)),
            Err(error) => Err(format!("the plan `{}` cannot be deleted: {error}", wanted.name)),
        }
    }

    fn list(&self) -> Result<String, String> {
        let (mut plans, mut warnings) = (Vec::new(), Vec::new());
        let folder = becket_fs::read_dir(&self.0)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        let mut files: Vec<PathBuf> = folder.map(|entry| entry.path()).collect();
        files.sort();
        for file in files
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "json"))
        {
            match read_json::<Plan>(file) {
                Ok(Some(plan)) => plans.push(json!({
                    "name": plan.name, "title": plan.title, "author": plan.author, "status": plan.status,
                    "revision": plan.revision, "updatedAt": plan.updated_at,
                })),
                Ok(None) => {}
                Err(error) => warnings.push(error),
            }
        }
        match warnings.is_empty() {
            true => told(&json!({"plans": plans})),
            false => told(&json!({"plans": plans, "warnings": warnings})),
        }
    }
}

/// Checks that a plan is as it was read.
fn check(name: &str, known: Option<u64>, revision: u64) -> Result<(), String> {
    match known {
        Some(known) if known != revision => Err(format!(
            "the plan `{name}` has the revision {revision}, not {known}: read it again, and then write"
        )),
        _ => Ok(()),
    }
}
