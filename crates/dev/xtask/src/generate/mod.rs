//! The files that are generated from code. They are committed, so that they can be read in place, and checked, so that
//! they cannot drift. Of some files only parts are generated (`parts.rs`).

mod cli;
mod dialects;
mod events;
mod node;
mod parts;
mod pi_api;
mod readme;

use becket_events::OperationKind;
use becket_host::ForeignCli;
use becket_run::Hosts;

use self::parts::replace;
use crate::problem::Problem;
use crate::workspace::Workspace;

/// What to do with the generated files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Write the files.
    Write,
    /// Compare the files with those that are there.
    Check,
}

/// A generated file.
struct Page {
    /// The path, relative to the project's folder.
    path: &'static str,
    make: fn(&Workspace) -> Result<String, Problem>,
}

/// All generated files but the guides of [`guides`].
const PAGES: &[Page] = &[
    Page {
        path: "docs/events.md",
        make: events::page,
    },
    Page {
        path: "docs/events.schema.json",
        make: events::schemas,
    },
    Page {
        path: "crates/engine/becket-events/operations.schema.json",
        make: |_| Ok(OperationKind::derived_schemas()),
    },
    Page {
        path: "docs/cli.md",
        make: |_| Ok(cli::page(&becket::command_line())),
    },
    Page {
        path: "docs/config.md",
        make: |_| Ok(becket::config_page()),
    },
    Page {
        path: "docs/dialects.md",
        make: |_| Ok(dialects::page()),
    },
    Page {
        path: "docs/pi-api.md",
        make: |_| Ok(pi_api::page()),
    },
    Page {
        path: "docs/node.md",
        make: |_| Ok(node::page()),
    },
    Page {
        path: "docs/guide/chat.md",
        make: |workspace| {
            let guide = workspace.read("docs/guide/chat.md")?;
            replace(&guide, "chat commands", &becket::chat_commands())
        },
    },
    Page {
        path: "README.md",
        make: readme::page,
    },
];

/// The paths of all files that are generated as a whole or in part.
pub fn paths() -> impl Iterator<Item = String> {
    let pages = PAGES.iter().map(|page| page.path.to_owned());
    pages.chain(guides().map(guide_of))
}

/// The programs whose command lines becket understands. The guide of each has the table of its options.
fn guides() -> impl Iterator<Item = &'static ForeignCli> {
    Hosts::default().foreign_clis()
}

fn guide_of(cli: &ForeignCli) -> String {
    format!("docs/guide/{}.md", cli.name)
}

/// All generated files with their fresh texts.
fn fresh(workspace: &Workspace) -> Result<Vec<(String, String)>, Problem> {
    let mut fresh = Vec::new();
    for page in PAGES {
        fresh.push((page.path.to_owned(), (page.make)(workspace)?));
    }
    for cli in guides() {
        let path = guide_of(cli);
        let text = replace(&workspace.read(&path)?, "options", cli.table().trim_end());
        fresh.push((
            path.clone(),
            text.map_err(|problem| format!("{path}: {problem}"))?,
        ));
    }
    Ok(fresh)
}

/// Generates all files, and writes or compares them.
pub fn run(workspace: &Workspace, mode: Mode) -> Result<(), Problem> {
    let mut stale = Vec::new();
    for (path, text) in fresh(workspace)? {
        let fresh = with_one_line_end(text);
        let present = workspace.find(&path).unwrap_or_default();
        if fresh == present {
            continue;
        }
        match mode {
            Mode::Write => {
                workspace.write(&path, &fresh)?;
                println!("wrote {path}");
            }
            Mode::Check => {
                print_difference(&path, &present, &fresh);
                stale.push(path);
            }
        }
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "stale: {}\nrun `cargo xtask generate` and commit the result",
            stale.join(", ")
        ))
    }
}

fn with_one_line_end(text: String) -> String {
    format!("{}\n", text.trim_end())
}

/// The first lines in which a file differs from what it should be.
fn print_difference(path: &str, present: &str, fresh: &str) {
    const SHOWN: usize = 20;
    let difference = similar::TextDiff::from_lines(present, fresh);
    let patch = difference
        .unified_diff()
        .context_radius(1)
        .header(path, "what the code says")
        .to_string();
    for line in patch.lines().take(SHOWN) {
        eprintln!("{line}");
    }
}
