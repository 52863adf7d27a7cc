//! The shape that several systems share: events, groups of hooks with a matcher, hooks.
//!
//! ```json
//! {"Event": [{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}]}
//! ```

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::entry::{Reading, Source};

/// One hook of such a file.
#[derive(Debug, Clone, Copy)]
pub struct Level<'a> {
    /// The event's name.
    pub event: &'a str,
    /// The members of the hook's group.
    pub group: &'a Map<String, Value>,
    /// The members of the hook.
    pub hook: &'a Map<String, Value>,
    /// Where the hook stands, as a JSON pointer.
    pub pointer: &'a str,
}

/// Visits all hooks below `hooks`, which stands at `pointer`. Whatever does not have the shape is dropped; whether it
/// may have been a guard is what `guards` says about its event.
pub fn levels(
    hooks: &Value,
    pointer: &str,
    source: &Arc<Source>,
    reading: &mut Reading,
    guards: impl Fn(&str) -> bool,
    mut visit: impl FnMut(Level<'_>, &mut Reading),
) {
    let Value::Object(events) = hooks else {
        return reading.drop_entry(source, pointer, "it is no object with events", true);
    };
    for (event, groups) in events {
        let at = format!("{pointer}/{}", escaped(event));
        let guards = guards(event);
        let Value::Array(groups) = groups else {
            reading.drop_entry(source, &at, "it is no list of hooks", guards);
            continue;
        };
        for (number, group) in groups.iter().enumerate() {
            let at = format!("{at}/{number}");
            let hooks = group.get("hooks").and_then(Value::as_array);
            let (Value::Object(group), Some(hooks)) = (group, hooks) else {
                let reason = "it has no list `hooks`: a hook stands in the list `hooks` of its group";
                reading.drop_entry(source, &at, reason, guards);
                continue;
            };
            for (number, hook) in hooks.iter().enumerate() {
                let pointer = format!("{at}/hooks/{number}");
                match hook {
                    Value::Object(hook) => visit(
                        Level {
                            event,
                            group,
                            hook,
                            pointer: &pointer,
                        },
                        reading,
                    ),
                    _ => reading.drop_entry(source, &pointer, "it is no object", guards),
                }
            }
        }
    }
}

/// A key as a part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
