//! The tools that extensions register, and how they are handed over to the agent.

use std::sync::Arc;

use becket_agent::session_handle::ToolSeen;
use becket_events::OperationKind;
use becket_js::HostError;

use super::answer::refused;
use super::registry::ExtensionRegistry;
use super::tool::{ExtensionTool, Offer};
use crate::host_call::ToolDefinition;

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
    let offer = registry.extensions.with(name, |guest| {
        guest.tools.retain(|other| other.name != tool.name);
        guest.tools.push(tool.clone());
        guest.extension.clone().map(|extension| Offer {
            extension,
            definition: tool,
        })
    });
    let takes_tools = registry.state().takes_tools;
    if let (true, Some(Some(offer)), Some(stage)) = (takes_tools, offer, registry.stage()) {
        match ExtensionTool::new(offer, registry, &stage.profile) {
            Ok(tool) => registry.session.config().add_tool(Arc::new(tool)),
            Err(why) => registry.warn(&why),
        }
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
    let active = tools.iter().filter(|tool| tool.is_active);
    Ok(active.map(pi_name).collect())
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
