//! The toolset `tasks`: tasks with priorities and dependencies, in a JSON file that sessions and agents share.
//!
//! The file has docker-agent's own form. A task is blocked while a task that it depends on is not done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_agent::tool::Tool;
use becket_tools::{PlainTool, plain_spec};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::kept::{folder_of, locked, now, read_json, write_json};
use super::words::{schema, told};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum Priority {
    Critical,
    High,
    #[default]
    Medium,
    Low,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Done,
    Blocked,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    id: String,
    title: String,
    #[serde(default)]
    description: String,
    priority: Priority,
    status: Status,
    #[serde(default)]
    dependencies: Vec<String>,
    created_at: String,
    updated_at: String,
}

/// A task as it is told, with the status that follows from its dependencies.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    #[serde(flatten)]
    task: Task,
    effective_status: Status,
}

/// The content of the file.
#[derive(Default, Serialize, Deserialize)]
struct Tasks {
    #[serde(default)]
    tasks: BTreeMap<String, Task>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    priority: Priority,
    #[serde(default)]
    dependencies: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    id: String,
    title: Option<String>,
    description: Option<String>,
    priority: Option<Priority>,
    status: Option<Status>,
    dependencies: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    status: Option<Status>,
    priority: Option<Priority>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Link {
    task_id: String,
    depends_on_id: String,
}

const PRIORITY: (&str, &str, &str) = ("priority", "string", "critical, high, medium or low.");
const DEPENDENCIES: (&str, &str, &str) = (
    "dependencies",
    "texts",
    "The IDs of tasks that must be done before.",
);

/// The tools on the tasks in a file, which is made with the first of them.
// tidy: a table
pub(super) fn tools(file: &Path) -> Vec<Arc<dyn Tool>> {
    let store = Store(file.into());
    let text = |name, about| (name, "string", about);
    let link = [
        text("taskId", "The task that depends on another."),
        text("dependsOnId", "The task that must be done first."),
    ];
    let of = || store.clone();
    let (create, get, update, delete) = (of(), of(), of(), of());
    let (list, next, add, remove) = (of(), of(), of(), of());
    let title = text("title", "A short title.");
    let description = text("description", "What is to be done.");
    let id = text("id", "The task's ID.");
    let status = text("status", "pending, in_progress, done or blocked.");
    let of_create = schema(&[title, description, PRIORITY, DEPENDENCIES], &["title"]);
    let of_update = schema(&[id, title, description, PRIORITY, status, DEPENDENCIES], &["id"]);
    let of_link = schema(&link, &["taskId", "dependsOnId"]);
    vec![
        PlainTool::arc(
            plain_spec(
                "create_task",
                "Create a task that later sessions find as well.",
                of_create,
            ),
            move |wanted: Create, _| create.change(|tasks| tasks.create(wanted)),
        ),
        PlainTool::arc(
            plain_spec("get_task", "Get a task.", schema(&[id], &["id"])),
            move |One { id }, _| told(&get.read()?.told(&id)?),
        ),
        PlainTool::arc(
            plain_spec("update_task", "Change a task.", of_update),
            move |wanted: Update, _| update.change(|tasks| tasks.update(wanted)),
        ),
        PlainTool::arc(
            plain_spec("delete_task", "Delete a task.", schema(&[id], &["id"])),
            move |One { id }, _| delete.change(|tasks| tasks.delete(&id)),
        ),
        PlainTool::arc(
            plain_spec(
                "list_tasks",
                "List tasks: the most important first, blocked ones last.",
                schema(&[status, PRIORITY], &[]),
            ),
            move |wanted: Filter, _| {
                let tasks = list.read()?.sorted();
                let fits = |told: &&Told| {
                    wanted.status.is_none_or(|status| told.effective_status == status)
                        && wanted
                            .priority
                            .is_none_or(|priority| told.task.priority == priority)
                };
                told(&tasks.iter().filter(fits).collect::<Vec<_>>())
            },
        ),
        PlainTool::arc(
            plain_spec(
                "next_task",
                "Get the most important task that can be worked on.",
                schema(&[], &[]),
            ),
            move |_: Nothing, _| {
                let tasks = next.read()?.sorted();
                let open = |told: &&Told| !matches!(told.effective_status, Status::Done | Status::Blocked);
                match tasks.iter().find(open) {
                    Some(task) => told(task),
                    None => Ok("There is no task that can be worked on.".to_owned()),
                }
            },
        ),
        PlainTool::arc(
            plain_spec("add_dependency", "Let a task wait for another.", of_link.clone()),
            move |link: Link, _| add.change(|tasks| tasks.link(&link)),
        ),
        PlainTool::arc(
            plain_spec(
                "remove_dependency",
                "Let a task no longer wait for another.",
                of_link,
            ),
            move |link: Link, _| remove.change(|tasks| tasks.unlink(&link)),
        ),
    ]
}

/// The file of tasks.
#[derive(Clone)]
struct Store(PathBuf);

impl Store {
    fn read(&self) -> Result<Tasks, String> {
        Ok(read_json(&self.0)?.unwrap_or_default())
    }

    /// Changes the tasks. An error changes nothing.
    fn change(&self, change: impl FnOnce(&mut Tasks) -> Result<String, String>) -> Result<String, String> {
        let _lock = locked(folder_of(&self.0))?;
        let mut tasks = self.read()?;
        let answer = change(&mut tasks)?;
        write_json(&self.0, &tasks)?;
        Ok(answer)
    }
}

impl Tasks {
    fn get(&mut self, id: &str) -> Result<&mut Task, String> {
        self.tasks
            .get_mut(id)
            .ok_or_else(|| format!("there is no task `{id}`"))
    }

    fn told(&self, id: &str) -> Result<Told, String> {
        let task = self
            .tasks
            .get(id)
            .ok_or_else(|| format!("there is no task `{id}`"))?;
        Ok(self.with_status(task))
    }

    fn with_status(&self, task: &Task) -> Told {
        let is_open = |id: &String| self.tasks.get(id).is_some_and(|task| task.status != Status::Done);
        let effective_status = match task.status {
            Status::Done => Status::Done,
            _ if task.dependencies.iter().any(is_open) => Status::Blocked,
            status => status,
        };
        Told {
            task: task.clone(),
            effective_status,
        }
    }

    /// All tasks: blocked ones last, then by priority and age.
    fn sorted(&self) -> Vec<Told> {
        let mut tasks: Vec<Told> = self.tasks.values().map(|task| self.with_status(task)).collect();
        tasks.sort_by_key(|told| {
            let is_blocked = told.effective_status == Status::Blocked;
            (is_blocked, told.task.priority, told.task.created_at.clone())
        });
        tasks
    }

    /// Checks that the tasks that another one waits for exist, and do not wait for it.
    fn check(&self, id: &str, dependencies: &[String]) -> Result<(), String> {
        if let Some(missing) = dependencies.iter().find(|one| !self.tasks.contains_key(*one)) {
            return Err(format!("there is no task `{missing}` to depend on"));
        }
        let (mut seen, mut open) = (Vec::new(), dependencies.to_vec());
        while let Some(next) = open.pop() {
            if next == id {
                return Err("the tasks would wait for each other".to_owned());
            }
            if !seen.contains(&next) {
                open.extend(
                    self.tasks
                        .get(&next)
                        .into_iter()
                        .flat_map(|task| task.dependencies.clone()),
                );
                seen.push(next);
            }
        }
        Ok(())
    }

    fn create(&mut self, wanted: Create) -> Result<String, String> {
        if wanted.title.trim().is_empty() {
            return Err("the title is empty".to_owned());
        }
        let number = |id: &String| {
            id.strip_prefix("task_")
                .and_then(|number| number.parse::<u64>().ok())
        };
        let last = self.tasks.keys().filter_map(number).max().unwrap_or(0);
        let id = format!("task_{}", last + 1);
        self.check(&id, &wanted.dependencies)?;
        let task = Task {
            id: id.clone(),
            title: wanted.title,
            description: wanted.description,
            priority: wanted.priority,
            status: Status::Pending,
            dependencies: wanted.dependencies,
            created_at: now(),
            updated_at: now(),
        };
        let answer = told(&task);
        self.tasks.insert(id, task);
        answer
    }

    fn update(&mut self, wanted: Update) -> Result<String, String> {
        self.get(&wanted.id)?;
        if let Some(dependencies) = &wanted.dependencies {
            self.check(&wanted.id, dependencies)?;
        }
        let task = self.get(&wanted.id)?;
        task.title = wanted.title.unwrap_or_else(|| task.title.clone());
        task.description = wanted.description.unwrap_or_else(|| task.description.clone());
        task.priority = wanted.priority.unwrap_or(task.priority);
        task.status = wanted.status.unwrap_or(task.status);
        task.dependencies = wanted.dependencies.unwrap_or_else(|| task.dependencies.clone());
        task.updated_at = now();
        told(task)
    }

    fn delete(&mut self, id: &str) -> Result<String, String> {
        self.get(id)?;
        self.tasks.remove(id);
        for task in self.tasks.values_mut() {
            task.dependencies.retain(|other| other != id);
        }
        told(&json!({"deleted": id}))
    }

    fn link(&mut self, link: &Link) -> Result<String, String> {
        let mut dependencies = self.get(&link.task_id)?.dependencies.clone();
        if !dependencies.contains(&link.depends_on_id) {
            dependencies.push(link.depends_on_id.clone());
        }
        self.check(&link.task_id, &dependencies)?;
        let task = self.get(&link.task_id)?;
        task.dependencies = dependencies;
        task.updated_at = now();
        told(task)
    }

    fn unlink(&mut self, link: &Link) -> Result<String, String> {
        let task = self.get(&link.task_id)?;
        task.dependencies.retain(|other| *other != link.depends_on_id);
        task.updated_at = now();
        told(task)
    }
}
