//! Loads extensions.

use std::sync::Arc;
use std::time::Duration;

use becket_hooks::Failure;
use becket_host::Unloaded;
use becket_js::{Kit, Prepared};

use super::hooks;
use super::registry::ExtensionRegistry;
use crate::Candidate;

/// How long an extension may take to handle the beginning or the end of a session.
pub(super) const A_WORD: Duration = Duration::from_secs(5);

/// Adds an extension and loads it. One that cannot be loaded counts as a guard, and the error says why.
pub(super) async fn load(
    kit: &Arc<Kit>,
    registry: &Arc<ExtensionRegistry>,
    candidate: &Candidate,
) -> Result<(), String> {
    registry.extensions.add(candidate.clone());
    let prepared = Prepared::new(kit, &candidate.name, candidate.code());
    load_prepared(prepared, registry, candidate).await
}

/// Loads an extension that is in the list already, and prepared.
pub(super) async fn load_prepared(
    prepared: Result<Prepared, Failure>,
    registry: &Arc<ExtensionRegistry>,
    candidate: &Candidate,
) -> Result<(), String> {
    let name = &candidate.name;
    let loaded = match prepared {
        Ok(prepared) => prepared.load().await,
        Err(failure) => Err(failure),
    };
    let trouble = match loaded {
        Ok(extension) => {
            registry.extensions.set_loaded(name, extension);
            registry.extensions.trouble(name)
        }
        Err(failure) if failure.detail.is_empty() => Some(failure.to_string()),
        Err(failure) => Some(failure.detail),
    };
    match trouble {
        None => Ok(()),
        Some(trouble) => {
            hooks::reject(registry, name, trouble.clone());
            Err(format!(
                "{}; what a guard may judge is refused",
                unloaded(candidate, trouble)
            ))
        }
    }
}

/// An extension that could not be loaded.
pub(super) fn unloaded(candidate: &Candidate, why: String) -> Unloaded {
    Unloaded::new(crate::EXTENSION, &candidate.name, &candidate.file, why)
}
