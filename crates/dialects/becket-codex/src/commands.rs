//! What Codex does with commands and becket with tools of its own: reading, listing, searching, fetching. Its hooks are
//! shown the command that does the same, so that a guard of commands also guards these tools.

use becket_dialect_kit::called::{change_of_files, quoted};
use becket_events::OperationKind;
use serde_json::{Map, Value};

/// The command for an operation; `None` if Codex has nothing like it.
pub fn line(operation: OperationKind, arguments: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let says = |name: &str| arguments.get(name).and_then(Value::as_bool) == Some(true);
    let path = || quoted(text("path").unwrap_or("."));
    Some(match operation {
        OperationKind::Read => match (number("offset"), number("limit"), number("tail")) {
            (_, _, Some(tail)) => format!("tail -n {tail} {}", path()),
            (None, None, None) => format!("cat {}", path()),
            (first, limit, None) => {
                let first = first.unwrap_or(1);
                let last = limit.map(|limit| first.saturating_add(limit).saturating_sub(1));
                let last = last.map_or_else(|| "$".to_owned(), |last| last.to_string());
                format!("sed -n '{first},{last}p' {}", path())
            }
        },
        OperationKind::List => match number("depth") {
            Some(depth) if depth > 1 => format!("find {} -maxdepth {depth}", path()),
            _ => format!("ls -a {}", path()),
        },
        OperationKind::Find => format!("rg --files -g {} {}", quoted(text("pattern")?), path()),
        OperationKind::Grep => {
            let mut words = vec!["rg -n".to_owned()];
            for (name, flag) in [("ignore_case", "-i"), ("literal", "-F")] {
                words.extend(says(name).then(|| flag.to_owned()));
            }
            for (name, flag) in [
                ("context", "-C"),
                ("before", "-B"),
                ("after", "-A"),
                ("limit", "-m"),
            ] {
                words.extend(number(name).map(|number| format!("{flag} {number}")));
            }
            words.extend(text("glob").map(|glob| format!("-g {}", quoted(glob))));
            let excluded = arguments.get("exclude").and_then(Value::as_array);
            let excluded = excluded.into_iter().flatten().filter_map(Value::as_str);
            words.extend(excluded.map(|glob| format!("-g {}", quoted(&format!("!{glob}")))));
            words.push(format!("-e {} {}", quoted(text("pattern")?), path()));
            words.join(" ")
        }
        OperationKind::Fetch => format!("curl -L {}", quoted(text("url")?)),
        operation => return change_of_files(operation, &path()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_are_shown_as_the_commands_that_do_the_same() {
        use OperationKind::{Fetch, Find, Grep, List, Mkdir, Read, Rmdir, VfsList};
        for (operation, arguments, wanted) in [
            (Read, json!({"path": ".env"}), Some("cat .env")),
            (Read, json!({"path": "it's"}), Some(r"cat 'it'\''s'")),
            (
                Read,
                json!({"path": "a", "offset": 3, "limit": 4}),
                Some("sed -n '3,6p' a"),
            ),
            (Read, json!({"path": "a", "offset": 3}), Some("sed -n '3,$p' a")),
            (Read, json!({"path": "a", "tail": 3}), Some("tail -n 3 a")),
            (List, json!({}), Some("ls -a .")),
            (List, json!({"path": "a", "depth": 2}), Some("find a -maxdepth 2")),
            (
                Find,
                json!({"pattern": "**/*.rs"}),
                Some("rg --files -g '**/*.rs' ."),
            ),
            (
                Grep,
                json!({"pattern": "a|b", "path": "src", "ignore_case": true, "glob": "*.rs", "context": 2}),
                Some("rg -n -i -C 2 -g '*.rs' -e 'a|b' src"),
            ),
            (
                Fetch,
                json!({"url": "https://a.example/?b"}),
                Some("curl -L 'https://a.example/?b'"),
            ),
            (Mkdir, json!({"path": "a b"}), Some("mkdir -p 'a b'")),
            (Rmdir, json!({"path": "a"}), Some("rmdir a")),
            (VfsList, json!({"path": "vfs:///"}), None),
        ] {
            let Value::Object(arguments) = arguments else {
                panic!("arguments are an object");
            };
            assert_eq!(line(operation, &arguments).as_deref(), wanted);
        }
    }
}
