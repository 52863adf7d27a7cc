//! Remarks for the user before a run: what was left out, and what has no effect.

use becket_events::Profile;
use becket_host::KnownTools;
use becket_system::Surroundings;

use crate::loading::Loaded;
use crate::models::model_of_home;
use crate::options::Caller;
use crate::restricted_tools::idle_inclusions;
use crate::setup::Setup;
use crate::tool_names::{exact_tool, tools_without_operation, unknown_tool};

/// Shows remarks to the user.
pub(crate) fn tell(remarks: impl IntoIterator<Item = String>, surroundings: &Surroundings) {
    for remark in remarks {
        surroundings.remark(&remark);
    }
}

/// Remarks before a run: what was left out, and what has no effect.
pub(crate) fn remarks(setup: &Setup, loaded: &Loaded) -> Vec<String> {
    let skipped = setup.prompt_files.skipped.iter().cloned();
    skipped
        .chain(setup.found.remarks())
        .chain(setup.without.iter().map(|name| told_without(setup, name)))
        .chain(
            setup
                .guest_settings
                .not_served()
                .into_iter()
                .map(|(_, remark)| remark),
        )
        .chain(unknown_tools(setup, loaded))
        .chain(idle_inclusions(setup, loaded))
        .chain(loaded.guests.remarks())
        .collect()
}

/// The remark at every start about a guest that the user leaves out.
pub(crate) fn told_without(setup: &Setup, name: &str) -> String {
    match setup.found.kind_left_out(name) {
        Some(kind) => format!("the {kind} {name} is left out (`without`)"),
        None => format!("`without` names {name}, and nothing here has that name"),
    }
}

/// Allow rules and hooks about tools that do not exist: they never match. A plugin's tool that replaces one of becket's
/// own is known by the name of that one.
pub fn unknown_tools(setup: &Setup, loaded: &Loaded) -> Vec<String> {
    let (brought, profile) = (loaded.guests.tool_names(), &loaded.profile);
    let is_brought = |name: &str| brought.iter().any(|tool| tool == name);
    let missing = |name: &str| unknown_tool(name).filter(|_| !is_brought(name));
    let stands_in = |name: &str| {
        profile.face_named(name).is_some()
            || Profile::own().face_named(name).is_some()
            || setup.hosts.has_tool(name)
    };
    let renamed = |name: &str| unknown_tool(name).filter(|_| stands_in(name));
    let in_rules = setup.permissions().flat_map(|list| &list.allow);
    let in_rules = in_rules.filter_map(|rule| {
        let rule = rule.get_ref();
        let tool = exact_tool(rule)?;
        let wrong = missing(tool).or_else(|| renamed(tool))?;
        Some(format!("the rule `{rule}` names the tool {wrong}"))
    });
    let in_hooks = setup.own_hooks().iter().flat_map(|hook| {
        let names = hook.tool_names().into_iter();
        names.filter_map(|name| {
            let (info, wrong) = (&hook.info, missing(name).or_else(|| renamed(name))?);
            Some(format!(
                "the hook {} ({}) wants the tool {wrong}",
                info.name, info.source
            ))
        })
    });
    let in_network = setup.config.tools.network.iter();
    let in_network = in_network.filter(|name| !loaded.guests.has_network_tool(name));
    let in_network =
        in_network.map(|name| format!("`tools.network` names the tool `{name}`, which no plugin has"));
    let brought: Vec<&str> = brought.iter().map(String::as_str).collect();
    let own: Vec<&str> = tools_without_operation().collect();
    let foreign = setup.found.idle(&KnownTools {
        brought: &brought,
        own: &own,
    });
    in_rules
        .chain(in_hooks)
        .chain(in_network)
        .chain(foreign)
        .collect()
}

/// All remarks for the user before a run.
pub(crate) fn remarks_of_run(setup: &Setup, loaded: &Loaded, caller: Caller<'_>) -> Vec<String> {
    let mut remarks = remarks(setup, loaded);
    // A model that was left out matters only where the command line names none.
    let of_home = model_of_home(setup, caller.surroundings).err();
    let left_out = setup.context_remark.clone().into_iter().chain(of_home);
    remarks.extend(left_out.filter(|_| caller.options.model.is_none()));
    remarks
}
