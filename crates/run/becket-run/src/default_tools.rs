//! The tools that the model is offered where nobody says which: those that an agent needs who works on files. What else
//! becket has costs tokens with every request, so it comes with what it is for: a chibi home, a flock, an index of the
//! code, a Scheme file. Who names a profile gets all of it.

use std::collections::BTreeSet;

use becket_agent::flocks::Flocks;
use becket_agent::vfs::Vfs;
use becket_events::{JOB_EXTRAS, OperationKind, Profile};
use becket_tools::CALL_USER;

use crate::options::RunOptions;
use crate::setup::Setup;
use crate::tool_names::tool_names;

/// The tools that the model is offered in any case, beside those for background jobs.
const USUAL: &[&str] = &[
    "shell",
    "read",
    "write",
    "edit",
    "list",
    "find",
    "grep",
    "fetch",
    "update_todos",
    "spawn_agent",
    // Offered where an answer does not end the turn by itself.
    CALL_USER,
];

/// becket's own tools that the model is not offered, unless the conversation has called them or somebody names them.
pub(crate) fn unoffered(setup: &Setup, options: &RunOptions) -> BTreeSet<String> {
    let names_profile = options.tools.is_some() && options.tool_list().is_none();
    if names_profile || setup.config.tools.profile.is_some() || setup.team.is_some() {
        return BTreeSet::new();
    }
    let brought = Brought::of(setup);
    let others = tool_names().filter(|name| {
        let is_usual = USUAL.contains(name) || JOB_EXTRAS.contains(name);
        !is_usual && !brought.has(name)
    });
    others.map(str::to_owned).collect()
}

/// What is there and brings tools of becket's own.
struct Brought {
    /// The tools of a chibi home.
    home: Option<Profile>,
    in_flock: bool,
    has_index: bool,
    has_scheme: bool,
    /// Whether the model keeps notes about itself: the settings say so, or there are some.
    reflects: bool,
    /// Whether the context has goals.
    has_goals: bool,
}

impl Brought {
    fn of(setup: &Setup) -> Self {
        let is_scheme = |(kind, _): &(&'static str, _)| *kind == "Scheme file";
        Self {
            home: setup
                .found
                .home()
                .and_then(|_| becket_dialects::profile_named("chibi")),
            in_flock: in_flock(setup),
            has_index: has_index(setup),
            has_scheme: setup.found.all().iter().any(is_scheme),
            reflects: setup.config.agent.reflection == Some(true)
                || becket_fs::is_file(setup.folders.data.join("reflection.md")),
            has_goals: setup
                .context_name
                .as_deref()
                .is_some_and(|context| becket_fs::is_file(setup.contexts().join(context).join("goals.md"))),
        }
    }

    fn has(&self, name: &str) -> bool {
        let kind = OperationKind::ALL.iter().find(|kind| kind.name() == name);
        let of_home = self.home.as_ref().is_some_and(|profile| {
            let is_face = |kind: &OperationKind| profile.faces.iter().any(|face| face.operation == *kind);
            profile.extras.contains(&name) || kind.is_some_and(is_face)
        });
        of_home
            || match name {
                "update_goals" => self.in_flock || self.has_goals,
                "send_message" => self.in_flock,
                "update_reflection" => self.reflects,
                "scheme_eval" => self.has_scheme,
                _ if name.starts_with("flock_") || name.starts_with("vfs_") => self.in_flock,
                _ => name.starts_with("index_") && self.has_index,
            }
    }
}

/// Whether the context has joined a flock. A registry that cannot be read may name it.
fn in_flock(setup: &Setup) -> bool {
    let context = setup.context_name.as_deref();
    context.is_some_and(|context| {
        let joined = Flocks::new(Vfs::new(&setup.vfs())).of(context);
        joined.map_or(true, |flocks| !flocks.is_empty())
    })
}

#[cfg(feature = "index")]
fn has_index(setup: &Setup) -> bool {
    becket_fs::is_file(setup.index().file)
}

#[cfg(not(feature = "index"))]
fn has_index(_: &Setup) -> bool {
    false
}
