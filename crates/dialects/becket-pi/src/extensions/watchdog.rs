//! Ensures that no extension blocks the program forever. Code that runs too long is ended by its engine, but some steps
//! of the engine itself (such as a search in a huge text) cannot be interrupted. They block the main thread, so another
//! thread watches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use becket_js::Watch;
use becket_system::Exit;

use super::registry::ExtensionRegistry;

/// How often the watchdog checks. It counts checks and not time, which also passes while the whole program is
/// suspended.
const LOOK: Duration = Duration::from_secs(1);

/// After how many checks the user is warned.
const TOLD: u64 = 5;

/// After how many checks the program is ended at the earliest.
const ENDED: u64 = 10;

/// Starts the watchdog, which ends with the registry.
pub fn begin(registry: &Arc<ExtensionRegistry>, watch: Arc<Watch>) {
    let limit = registry.facts.timeout.as_secs().max(ENDED);
    let registry = Arc::downgrade(registry);
    std::thread::spawn(move || {
        let mut looks: HashMap<String, u64> = HashMap::new();
        loop {
            std::thread::sleep(LOOK);
            let Some(registry) = registry.upgrade() else {
                return;
            };
            let overdue = watch.overdue();
            looks.retain(|name, _| overdue.contains(name));
            for name in overdue {
                let count = looks.entry(name.clone()).or_default();
                *count += 1;
                match *count {
                    TOLD => registry.facts.surroundings.remark(&format!(
                        "the extension {name} is in a step of its engine that cannot be interrupted; if it does not \
                         end, becket will"
                    )),
                    count if count == limit => end(&registry, &name),
                    _ => {}
                }
            }
        }
    });
}

/// Ends the program. Nothing else can be done, because the main thread does not come back.
fn end(registry: &ExtensionRegistry, name: &str) {
    registry.facts.surroundings.complain(&format!(
        "the extension {name} does not end and cannot be ended, so becket ends. Run it without (--no-extensions), or \
         see which of its loops works on very long texts"
    ));
    becket_hooks::end_programs();
    registry.facts.mark.end_all();
    std::process::exit(Exit::Failed as i32);
}
