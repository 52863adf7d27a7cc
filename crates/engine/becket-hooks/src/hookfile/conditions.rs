//! The `match` of a hook, read against the schema of what its event holds: a condition that can never hold is an
//! error, because a guard that is never asked looks like a guard that agrees.

use std::collections::BTreeMap;

use becket_events::{EventId, EventInfo, OperationKind, Schema, payload_schema};
use serde_json::Value;
use toml::Spanned;

use crate::Matcher;
use crate::matcher::Pattern;
use crate::settings_file::{SettingsError, TextPlace, unknown};

/// The keys for patterns.
const PATTERNS: [&str; 2] = ["regex", "glob"];

/// The field that holds the arguments of a call. Its members are always names of arguments.
const ARGUMENTS: &str = "arguments";

/// The schema of a value about which nothing is known.
static ANYTHING: Value = Value::Bool(true);

/// Makes a matcher from the conditions of a hook.
pub(super) fn read_matcher(
    event: EventId,
    conditions: Option<Spanned<toml::Value>>,
    place: TextPlace<'_>,
) -> Result<Matcher, SettingsError> {
    let Some(conditions) = conditions else {
        return Ok(Matcher::default());
    };
    let start = conditions.span().start;
    let schema = payload_schema(event).to_value();
    let reader = Reader {
        event: event.info(),
        root: &schema,
        names_tool: false,
    };
    reader
        .read(conditions.into_inner())
        .map_err(|message| place.error(start, message))
}

struct Reader<'a> {
    event: &'static EventInfo,
    /// The schema of the event, in which references are resolved.
    root: &'a Value,
    /// Whether the conditions name the tool.
    names_tool: bool,
}

impl Reader<'_> {
    fn read(mut self, conditions: toml::Value) -> Result<Matcher, String> {
        let conditions = self.table(conditions)?;
        self.names_tool = ["tool", "tool_name", "operation"]
            .iter()
            .any(|name| conditions.contains_key(*name));
        if conditions.contains_key("tool") && conditions.contains_key("tool_name") {
            return Err("`tool` is short for `tool_name`; give one of them in `match`".into());
        }
        let operations: Option<Vec<Schema>> = wanted_operations(&conditions)
            .filter(|_| self.has_normalised_arguments())
            .map(|kinds| kinds.into_iter().map(OperationKind::schema).collect());
        let mut matcher = Matcher::default();
        let mut mistakes = Vec::new();
        for (name, wanted) in conditions {
            let added = self.field(&name).and_then(|(field, property)| {
                let schemas = match &operations {
                    Some(operations) if field == ARGUMENTS => {
                        operations.iter().map(|schema| &**schema).collect()
                    }
                    _ => vec![property],
                };
                self.add(std::mem::take(&mut matcher), vec![field], wanted, &schemas)
            });
            match added {
                Ok(added) => matcher = added,
                Err(mistake) => mistakes.push(mistake),
            }
        }
        match mistakes.is_empty() {
            true => Ok(matcher),
            false => Err(mistakes.join("; also: ")),
        }
    }

    /// The conditions as a table. A text alone is the name of a tool.
    fn table(&self, conditions: toml::Value) -> Result<toml::Table, String> {
        match conditions {
            toml::Value::Table(table) => Ok(table),
            toml::Value::String(tool) if self.has_field("tool_name") => {
                Ok(toml::Table::from_iter([("tool".to_string(), tool.into())]))
            }
            toml::Value::String(_) => Err(format!(
                "{} is about no tool: `match` is a table of its fields, such as {{ model = {{ glob = \"…\" }} }}",
                self.event.name
            )),
            other => Err(format!(
                "`match` is a table of conditions, such as {{ tool = \"shell\" }}, not {other}"
            )),
        }
    }

    fn has_field(&self, name: &str) -> bool {
        self.event.payload.iter().any(|field| field.name == name)
    }

    /// Whether the event's arguments already have becket's own names, and not those that a model used.
    fn has_normalised_arguments(&self) -> bool {
        let mut fields = self.event.payload.iter();
        fields.any(|field| field.name == ARGUMENTS && field.type_name.starts_with("Map"))
    }

    /// A field under its full name, with its schema. `tool` is accepted as a short name, because everyone tries it
    /// first.
    fn field(&self, name: &str) -> Result<(String, &Value), String> {
        let own = self.event.payload.iter().map(|field| field.name);
        let common = EventInfo::common_fields()
            .into_iter()
            .filter(|name| *name != "event");
        let known: Vec<&str> = own.chain(common).collect();
        let full = if name == "tool" { "tool_name" } else { name };
        let property = self.root["properties"].get(full);
        match property.filter(|_| known.contains(&full)) {
            Some(property) => Ok((full.to_string(), property)),
            None => {
                let what = format!("field of {} in `match`", self.event.name);
                let short = |name| if name == "tool_name" { "tool" } else { name };
                Err(unknown(&what, name, known.into_iter().map(short)))
            }
        }
    }

    /// Adds conditions: a text must match exactly; `{ regex = … }` and `{ glob = … }` are patterns; other tables lead
    /// further inside.
    fn add(
        &self,
        matcher: Matcher,
        path: Vec<String>,
        wanted: toml::Value,
        schemas: &[&Value],
    ) -> Result<Matcher, String> {
        let shape = Shape::of(schemas, self.root);
        let shown = path.join(".");
        match wanted {
            toml::Value::String(text) => Ok(matcher.and(path, shape.exactly(text, &shown)?)),
            toml::Value::Integer(number) => Ok(matcher.and(path, shape.exactly(number.to_string(), &shown)?)),
            toml::Value::Boolean(truth) => Ok(matcher.and(path, shape.exactly(truth.to_string(), &shown)?)),
            toml::Value::Table(table) => self.add_table(matcher, path, table, &shape),
            toml::Value::Array(_) => Err(format!(
                "`{shown}` in `match` wants one text; for several write {{ regex = \"a|b\" }}"
            )),
            other => Err(format!(
                "`match` wants a text, {{ regex = \"…\" }} or {{ glob = \"…\" }}, not {other}"
            )),
        }
    }

    fn add_table(
        &self,
        matcher: Matcher,
        path: Vec<String>,
        table: toml::Table,
        shape: &Shape<'_>,
    ) -> Result<Matcher, String> {
        let shown = path.join(".");
        if table.is_empty() {
            return Err(format!("`{shown} = {{}}` in `match` says nothing; leave it out"));
        }
        if shape.is_text() && shown != ARGUMENTS {
            if let Some(pattern) = single_pattern(&table)? {
                return Ok(matcher.and(path, shape.pattern(pattern, &shown)?));
            }
            if !shape.has_members() || is_almost_pattern(&table) {
                return Err(pattern_mistake(&table, &shown));
            }
        }
        table.into_iter().try_fold(matcher, |matcher, (member, wanted)| {
            let schemas = self.member(shape, &member, &shown)?;
            self.add(matcher, [path.as_slice(), &[member]].concat(), wanted, &schemas)
        })
    }

    /// The schemas of a member of an object.
    fn member<'s>(&self, shape: &Shape<'s>, member: &str, shown: &str) -> Result<Vec<&'s Value>, String> {
        if let Some(schemas) = shape.members.get(member) {
            return Ok(schemas.clone());
        }
        if shape.open {
            return Ok(vec![&ANYTHING]);
        }
        let names = shape.members.keys().copied();
        if shown == ARGUMENTS {
            let message = unknown("argument in `match`", member, names);
            return Err(if self.names_tool {
                message
            } else {
                format!("{message} (name the `tool`, if it is not one of becket's own)")
            });
        }
        Err(unknown(&format!("member of `{shown}` in `match`"), member, names))
    }
}

/// The operations of which a matching call must be one. `None`: tools that becket does not know may match too.
fn wanted_operations(conditions: &toml::Table) -> Option<Vec<OperationKind>> {
    let named = |name: &str| {
        OperationKind::ALL
            .iter()
            .copied()
            .find(|kind| kind.name() == name)
    };
    let tool = conditions.get("tool").or_else(|| conditions.get("tool_name"));
    match tool.or_else(|| conditions.get("operation")) {
        None => Some(OperationKind::ALL.to_vec()),
        Some(toml::Value::String(name)) => Some(vec![named(name)?]),
        // Of regular expressions only plain lists of names are understood.
        Some(toml::Value::Table(pattern)) => {
            let names = pattern.get("regex")?.as_str()?;
            names.trim_matches(['(', ')']).split('|').map(named).collect()
        }
        Some(_) => None,
    }
}

fn single_pattern(table: &toml::Table) -> Result<Option<Pattern>, String> {
    let mut members = table.iter();
    let (Some((name, wanted)), None) = (members.next(), members.next()) else {
        return Ok(None);
    };
    if !PATTERNS.contains(&name.as_str()) {
        return Ok(None);
    }
    let toml::Value::String(text) = wanted else {
        return Err(format!("`{name}` in `match` wants a text, not {wanted}"));
    };
    let pattern = if name == "regex" {
        Pattern::regex(text).map_err(|error| format!("bad regular expression: {error}"))
    } else {
        Pattern::glob(text).map_err(|error| format!("bad glob: {error}"))
    };
    pattern.map(Some)
}

/// Whether a table that could also lead further inside was probably meant as a pattern.
fn is_almost_pattern(table: &toml::Table) -> bool {
    match table.len() {
        1 => table
            .keys()
            .any(|name| PATTERNS.iter().any(|pattern| is_misspelt(name, pattern))),
        _ => table.keys().any(|name| PATTERNS.contains(&name.as_str())),
    }
}

/// Whether a name is a misspelt pattern. Stricter than a suggestion needs to be, since objects may really have members
/// with such names.
fn is_misspelt(name: &str, pattern: &str) -> bool {
    let name = name.to_lowercase();
    name.chars().next() == pattern.chars().next() && strsim::damerau_levenshtein(&name, pattern) <= 1
}

fn pattern_mistake(table: &toml::Table, shown: &str) -> String {
    let mistake = match table.keys().find(|name| !PATTERNS.contains(&name.as_str())) {
        Some(other) => unknown("pattern", other, PATTERNS.into_iter()),
        None => "give one of `regex` and `glob`, not both".into(),
    };
    format!("`{shown}` in `match`: {mistake}")
}

/// What a value can be, according to its schemas.
#[derive(Default)]
struct Shape<'a> {
    /// The members that the value can have as an object.
    members: BTreeMap<&'a str, Vec<&'a Value>>,
    /// Whether the value can have other members too.
    open: bool,
    /// The texts that the value can be.
    values: Vec<String>,
    /// Whether the value can be a number.
    numeric: bool,
    /// Whether the value can be any other text too.
    free: bool,
}

impl<'a> Shape<'a> {
    fn of(schemas: &[&'a Value], root: &'a Value) -> Self {
        let mut shape = Self::default();
        for schema in schemas {
            shape.add(schema, root);
        }
        shape
    }

    fn add(&mut self, schema: &'a Value, root: &'a Value) {
        let target = schema.get("$ref").and_then(Value::as_str);
        if let Some(target) = target.and_then(|path| root.pointer(path.trim_start_matches('#'))) {
            return self.add(target, root);
        }
        if let Some(value) = schema.get("const") {
            return self.values.push(text_of(value));
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let values = values.iter().filter(|value| !value.is_null());
            return self.values.extend(values.map(text_of));
        }
        let mut combined = false;
        for variant in ["anyOf", "oneOf", "allOf"]
            .iter()
            .filter_map(|word| schema.get(word)?.as_array())
            .flatten()
        {
            combined = true;
            self.add(variant, root);
        }
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            Some(kind) => kind.as_str().into_iter().collect(),
            None if schema.get("properties").is_some() => vec!["object"],
            None if combined => vec![],
            None => vec!["object", "string"],
        };
        for kind in kinds {
            match kind {
                "object" => self.add_members(schema),
                "null" => {}
                "integer" | "number" => self.numeric = true,
                "boolean" => self.values.extend(["true".into(), "false".into()]),
                _ => self.free = true,
            }
        }
    }

    fn add_members(&mut self, schema: &'a Value) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        self.open |= others.map_or(properties.is_none(), |others| *others != Value::Bool(false));
        for (name, property) in properties.into_iter().flatten() {
            self.members.entry(name).or_default().push(property);
        }
    }

    /// Whether the value can be anything but an object.
    fn is_text(&self) -> bool {
        self.free || self.numeric || !self.values.is_empty()
    }

    /// Whether the value can be an object.
    fn has_members(&self) -> bool {
        self.open || !self.members.is_empty()
    }

    fn exactly(&self, text: String, shown: &str) -> Result<Pattern, String> {
        if !self.is_text() {
            return Err(format!(
                "`{shown}` in `match` is an object, and no text; name a member: {{ {shown} = {{ {} = \"…\" }} }}",
                self.members.keys().next().unwrap_or(&"name")
            ));
        }
        let is_number = self.numeric && text.parse::<f64>().is_ok();
        if self.free || is_number || self.values.contains(&text) {
            return Ok(Pattern::Exact(text));
        }
        if self.numeric {
            return Err(format!("`{shown}` in `match` is a number, and never `{text}`"));
        }
        let values = self.values.iter().map(String::as_str);
        Err(unknown(&format!("value of `{shown}` in `match`"), &text, values))
    }

    fn pattern(&self, pattern: Pattern, shown: &str) -> Result<Pattern, String> {
        if self.free
            || self.numeric
            || self.has_members()
            || self.values.iter().any(|value| pattern.matches(value))
        {
            return Ok(pattern);
        }
        let values = self.values.join(", ");
        Err(format!(
            "no value of `{shown}` matches the pattern in `match`; there are {values}"
        ))
    }
}

/// A value as matchers see it.
fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::hookfile::{OwnHook, read_hook_file};

    fn read(event: &str, conditions: &str) -> Result<OwnHook, String> {
        let text = format!("[[hook]]\nevent = \"{event}\"\ncommand = \"x\"\nmatch = {conditions}\n");
        read_hook_file(&text, Path::new("hooks.toml"))
            .map(|mut hooks| hooks.remove(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn all_mistakes_of_a_match_are_told_at_once() {
        let wrong = read("pre_tool", "{ tol = \"shell\", turm = 7, tool = [\"a\"] }").unwrap_err();
        for part in [
            "`tol`; did you mean `tool`?",
            "`turm`; did you mean `turn`?",
            "wants one text",
        ] {
            assert!(wrong.contains(part), "{part}: {wrong}");
        }
    }

    // tidy: a table
    #[test]
    fn what_can_never_match_is_an_error() {
        let table = [
            (
                "pre_tool",
                "{ tool = { regx = \"a\" } }",
                "unknown pattern `regx`; did you mean `regex`?",
            ),
            (
                "pre_tool",
                "{ tool = { Regex = \"a\" } }",
                "unknown pattern `Regex`; did you mean `regex`?",
            ),
            (
                "pre_tool",
                "{ tool = { regex = \"a\", glob = \"b\" } }",
                "`tool_name` in `match`: give one of `regex` and `glob`, not both",
            ),
            (
                "pre_tool",
                "{ tool = { regex = \"a\", x = \"b\" } }",
                "unknown pattern `x`; expected one of regex, glob",
            ),
            (
                "pre_tool",
                "{ tool = { regex = 3 } }",
                "`regex` in `match` wants a text, not 3",
            ),
            (
                "pre_tool",
                "{ tool = {} }",
                "`tool_name = {}` in `match` says nothing",
            ),
            (
                "pre_tool",
                "{ tool = [\"a\", \"b\"] }",
                "`tool_name` in `match` wants one text",
            ),
            (
                "pre_tool",
                "{ tool = \"shell\", tool_name = \"shell\" }",
                "`tool` is short for `tool_name`",
            ),
            (
                "pre_tool",
                "{ tool = { name = \"shell\" } }",
                "unknown pattern `name`",
            ),
            (
                "pre_tool",
                "{ parent_tool_call_id = { id = \"x\" } }",
                "unknown pattern `id`",
            ),
            ("post_tool", "{ is_error = { x = true } }", "unknown pattern `x`"),
            (
                "post_tool",
                "{ is_error = \"yes\" }",
                "unknown value of `is_error` in `match` `yes`; expected one of true, false",
            ),
            ("pre_tool", "{ turn = { x = 1 } }", "unknown pattern `x`"),
            (
                "pre_tool",
                "{ turn = \"first\" }",
                "`turn` in `match` is a number, and never `first`",
            ),
            (
                "pre_tool",
                "{ event = \"pre_tool\" }",
                "unknown field of pre_tool in `match` `event`",
            ),
            (
                "pre_tool",
                "{ tool = \"shell\", arguments = { comand = \"x\" } }",
                "unknown argument in `match` `comand`; did you mean `command`?",
            ),
            (
                "pre_tool",
                "{ tool = \"write\", arguments = { command = \"x\" } }",
                "unknown argument in `match` `command`; expected one of content, path",
            ),
            (
                "pre_tool",
                "{ operation = \"write\", arguments = { command = \"x\" } }",
                "unknown argument in `match` `command`",
            ),
            (
                "pre_tool",
                "{ tool = { regex = \"write|edit\" }, arguments = { file_path = \"x\" } }",
                "unknown argument in `match` `file_path`",
            ),
            (
                "pre_tool",
                "{ arguments = { file_path = \"x\" } }",
                "unknown argument in `match` `file_path`",
            ),
            (
                "pre_tool",
                "{ arguments = { command = { regx = \"x\" } } }",
                "unknown pattern `regx`; did you mean `regex`?",
            ),
            (
                "pre_tool",
                "{ arguments = { command = { line = \"x\" } } }",
                "unknown pattern `line`",
            ),
            (
                "pre_tool",
                "{ arguments = { regex = \".*\" } }",
                "unknown argument in `match` `regex`",
            ),
            (
                "pre_tool",
                "{ arguments = \"rm\" }",
                "`arguments` in `match` is an object, and no text",
            ),
            (
                "pre_tool",
                "{ operation = \"bash\" }",
                "unknown value of `operation` in `match` `bash`; expected one of shell",
            ),
            (
                "pre_tool",
                "{ operation = { glob = \"bash*\" } }",
                "no value of `operation` matches",
            ),
            (
                "pre_tool",
                "{ tool = \"mcp_x\", arguments = { q = { regx = \"x\" } } }",
                "unknown pattern `regx`",
            ),
            (
                "pre_tool",
                "3",
                "`match` is a table of conditions, such as { tool = \"shell\" }, not 3",
            ),
            ("turn_end", "\"shell\"", "turn_end is about no tool"),
            (
                "response",
                "{ usage = { inpt = 3 } }",
                "unknown member of `usage` in `match` `inpt`",
            ),
        ];
        for (event, conditions, message) in table {
            let error = read(event, conditions).expect_err(conditions);
            assert!(
                error.starts_with("hooks.toml:4: ") && error.contains(message),
                "{conditions}\n-> {error}\nwanted {message}"
            );
        }
    }

    #[test]
    fn what_can_match_is_read() {
        let table = [
            ("pre_tool", "\"shell\""),
            ("pre_tool", "{}"),
            ("pre_tool", "{ turn = \"1\" }"),
            ("pre_tool", "{ turn = { regex = \"[0-9]\" } }"),
            ("pre_tool", "{ arguments = { glob = \"*.rs\" } }"),
            (
                "pre_tool",
                "{ tool = \"grep\", arguments = { glob = { glob = \"*.rs\" } } }",
            ),
            (
                "pre_tool",
                "{ tool = \"mcp_x\", arguments = { anything = { deep = { n = 3 } } } }",
            ),
            (
                "pre_tool",
                "{ tool = { glob = \"mcp_*\" }, arguments = { anything = \"x\" } }",
            ),
            (
                "pre_tool",
                "{ tool = { regex = \"write|edit\" }, arguments = { path = { glob = \"*.rs\" } } }",
            ),
            (
                "pre_tool",
                "{ operation = \"shell\", context_name = \"a\", agent_name = \"b\", session_id = \"c\" }",
            ),
            (
                "pre_tool",
                "{ model = { glob = \"openai/*\" }, cwd = { glob = \"/work*\" }, turn = 1 }",
            ),
            ("tool_start", "{ tool = \"Bash\", arguments = { cmd = \"ls\" } }"),
            ("tool_start", "{ arguments = { glob = \"ls\" } }"),
            ("pre_request", "{ body = { glob = \"*secret*\" } }"),
            ("pre_request", "{ body = { model = \"x\" } }"),
            (
                "post_tool",
                "{ is_error = true, original_arguments = { cmd = { regex = \"rm .*\" } } }",
            ),
            ("tool_end", "{ content = { glob = \"*secret*\" } }"),
        ];
        for (event, conditions) in table {
            read(event, conditions).expect(conditions);
        }
    }

    #[test]
    fn the_names_of_wanted_tools_are_known() {
        assert_eq!(read("pre_tool", "\"shell\"").unwrap().tool_names(), ["shell"]);
        assert_eq!(
            read("pre_tool", "{ tool_name = \"edit\" }").unwrap().tool_names(),
            ["edit"]
        );
        assert!(
            read("pre_tool", "{ tool = { glob = \"e*\" } }")
                .unwrap()
                .tool_names()
                .is_empty()
        );
    }

    #[test]
    fn arguments_are_matched_by_their_names_also_where_one_is_called_like_a_pattern() {
        let payload = |glob: &str| becket_events::PreToolPayload {
            tool_source: "builtin".into(),
            tool_call_id: "c1".into(),
            tool_name: "grep".into(),
            called_as: "grep".into(),
            operation: None,
            arguments: serde_json::Map::from_iter([("glob".to_string(), glob.into())]),
            parent_tool_call_id: None,
        };
        let hook = read("pre_tool", "{ arguments = { glob = \"*.rs\" } }").unwrap();
        let scope = becket_events::Scope::default();
        assert!(hook.matcher.matches(&scope, &payload("*.rs")));
        assert!(!hook.matcher.matches(&scope, &payload("a.rs")));
    }
}
