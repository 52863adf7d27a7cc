//! The tools that extensions register, and how they are handed over to the agent.

use std::sync::{Arc, Weak};

use becket_agent::session_handle::ToolSeen;
use becket_agent::tool::{BUILTIN, Handoff};
use becket_events::{OperationKind, SessionStart, SessionStartReply};
use becket_hooks::Engine;
use becket_host::SessionTool;
use becket_js::HostError;

use super::answer::refused;
use super::registry::ExtensionRegistry;
use super::tool::{ExtensionTool, Offer};
use crate::host_call::{Exposure, ToolDefinition};

/// pi's tools that it offers only if they are chosen, or an extension activates them.
const NOT_BY_DEFAULT: [&str; 3] = ["grep", "find", "ls"];

/// The tools that were registered until now, in the order of their extensions. Later ones go to the session handle.
pub fn hand_over(registry: &ExtensionRegistry) -> Vec<Offer> {
    // First: a tool that is registered meanwhile goes to the session handle, and may be among these as well.
    registry.state().takes_tools = true;
    let offers = registry.extensions.each(|guest| {
        let extension = guest.extension.iter();
        let offers = extension.flat_map(|extension| {
            guest.tools.iter().map(|tool| Offer {
                extension: extension.clone(),
                definition: tool.clone(),
            })
        });
        offers.collect::<Vec<_>>()
    });
    offers.into_iter().flatten().collect()
}

/// Adds a tool. The first tool with a name keeps it; the same extension may replace its own.
pub fn add(registry: &Arc<ExtensionRegistry>, name: &str, tool: ToolDefinition) {
    let owner = owner_of(registry, &tool.name);
    if let Some(owner) = owner.filter(|owner| owner != name) {
        let tool = &tool.name;
        registry.warn(&format!(
            "the extensions {owner} and {name} both have a tool {tool:?}; that of {owner} is used"
        ));
        return;
    }
    let tool_name = tool.name.clone();
    let offer = registry.extensions.with(name, |guest| {
        guest.tools.retain(|other| other.name != tool.name);
        guest.tools.push(tool.clone());
        guest.extension.clone().map(|extension| Offer {
            extension,
            definition: tool,
        })
    });
    let takes_tools = registry.state().takes_tools && registry.allows_tool(&tool_name);
    if let (true, Some(Some(offer)), Some(stage)) = (takes_tools, offer, registry.stage()) {
        let active = match offer.definition.is_active_at_first() {
            true => None,
            false => registry.session.config().tools().ok(),
        };
        match ExtensionTool::new(offer, registry, &stage.profile) {
            Ok(tool) => registry.session.config().add_tool(Arc::new(tool)),
            Err(why) => registry.warn(&why),
        }
        if let Some(tools) = active {
            let active = tools.iter().filter(|tool| tool.is_active);
            let names = active.map(|tool| tool.spec.face.name.clone()).collect();
            registry.session.config().set_active_tools(names);
        }
    }
}

/// A tool that other tools can call though the model is not offered it.
pub fn callable(registry: &ExtensionRegistry, name: &str) -> Option<Offer> {
    let offers = registry.extensions.each(|guest| {
        let is_meant = |tool: &&ToolDefinition| {
            tool.name == name && matches!(tool.exposure, Exposure::Codemode | Exposure::Deferred)
        };
        Some(Offer {
            definition: guest.tools.iter().find(is_meant)?.clone(),
            extension: guest.extension.clone()?,
        })
    });
    offers.into_iter().flatten().next()
}

/// How the model reaches a tool of an extension.
pub fn exposure(registry: &ExtensionRegistry, extension: &str, name: &str) -> Exposure {
    let found = registry.extensions.with(extension, |guest| {
        let tool = guest.tools.iter().find(|tool| tool.name == name)?;
        Some(tool.exposure)
    });
    found.flatten().unwrap_or_default()
}

/// The tools that the model is not offered until somebody activates them.
fn inactive_at_first(registry: &ExtensionRegistry) -> Vec<String> {
    let names = registry.extensions.each(|guest| {
        let waiting = guest.tools.iter().filter(|tool| !tool.is_active_at_first());
        waiting.map(|tool| tool.name.clone()).collect::<Vec<_>>()
    });
    names.concat()
}

/// Begins every session of the user without the tools that wait for somebody to activate them.
pub fn register(engine: &Engine, registry: &Arc<ExtensionRegistry>) {
    let registry: Weak<ExtensionRegistry> = Arc::downgrade(registry);
    engine.on::<SessionStart>("tools that are not active at first", move |occasion| {
        if let Some(registry) = registry.upgrade().filter(|_| crate::show::is_own(occasion.scope)) {
            leave_out_inactive(&registry);
            choose(&registry);
        }
        Ok(SessionStartReply::default())
    });
}

fn leave_out_inactive(registry: &ExtensionRegistry) {
    let mut waiting = inactive_at_first(registry);
    let Ok(tools) = registry.session.config().tools() else {
        return;
    };
    if registry.facts.default_tools {
        let rare = tools.iter().filter(|tool| {
            let name = pi_name(tool);
            NOT_BY_DEFAULT.contains(&&*name) && owner_of(registry, &name).is_none()
        });
        waiting.extend(rare.map(|tool| tool.spec.face.name.clone()));
    }
    if waiting.is_empty() {
        return;
    }
    let active = tools.iter().filter(|tool| tool.is_active);
    let names = active.map(|tool| tool.spec.face.name.clone());
    let names = names.filter(|name| !waiting.contains(name)).collect();
    registry.session.config().set_active_tools(names);
}

/// Offers the tools that the command line names.
fn choose(registry: &ExtensionRegistry) {
    let (Some(choice), Ok(tools)) = (registry.tool_choice.get(), registry.session.config().tools()) else {
        return;
    };
    let shown: Vec<SessionTool> = tools
        .iter()
        .map(|tool| SessionTool {
            name: pi_name(tool),
            is_active: tool.is_active,
            is_builtin: tool.spec.source == BUILTIN,
        })
        .collect();
    if let Some(names) = choice.first(&shown) {
        let chosen = tools.iter().filter(|tool| {
            let known = pi_name(tool);
            names
                .iter()
                .any(|name| *name == known || *name == tool.spec.face.name)
        });
        let names = chosen.map(|tool| tool.spec.face.name.clone()).collect();
        registry.session.config().set_active_tools(names);
    }
}

/// The extension that has a tool with that name.
fn owner_of(registry: &ExtensionRegistry, tool: &str) -> Option<String> {
    let owners = registry.extensions.each(|guest| {
        let has = guest.tools.iter().any(|other| other.name == tool);
        has.then(|| guest.candidate.name.clone())
    });
    owners.into_iter().flatten().next()
}

/// The tools that the model is offered, under pi's names.
pub fn active_tools(registry: &ExtensionRegistry) -> Result<Vec<String>, HostError> {
    let tools = registry.session.config().tools().map_err(refused)?;
    let active = tools.iter().filter(|tool| tool.is_active && !ends_turn(tool));
    Ok(active.map(pi_name).collect())
}

/// Whether a tool is becket's own that ends the turn. The model is offered it only if its answer does not, and pi has
/// no such tool, so extensions do not see it.
pub fn ends_turn(tool: &ToolSeen) -> bool {
    tool.spec.handoff == Some(Handoff::Person) && tool.spec.source == BUILTIN
}

/// The name of a tool; pi's name if pi has its operation.
pub fn pi_name(tool: &ToolSeen) -> String {
    let known = tool.spec.operation.and_then(|operation: OperationKind| {
        let profile = crate::profile();
        let face = profile.faces.iter().find(|face| face.operation == operation);
        face.map(|face| face.name.to_owned())
    });
    known.unwrap_or_else(|| tool.spec.face.name.clone())
}
