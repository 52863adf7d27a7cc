//! The laws that every tool profile keeps.

use becket_events::{Beside, LineEdit, OperationKind, Profile, Replacement};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{profile_named, profile_names};

fn profiles() -> Vec<Profile> {
    profile_names()
        .map(|name| profile_named(name).unwrap_or_else(|| panic!("{name} is listed but not known")))
        .chain([becket_chibi::profile_of(becket_chibi::Generation::Older)])
        .collect()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Arguments of an operation under becket's names, with each optional one present or absent.
fn arguments_of(kind: OperationKind) -> BoxedStrategy<Map<String, Value>> {
    let text = || any::<String>().prop_map(Value::from).boxed();
    let number = || (1u64..1_000_000).prop_map(Value::from).boxed();
    let truth = || any::<bool>().prop_map(Value::from).boxed();
    let edits = || {
        let edit = (any::<String>(), any::<String>(), any::<bool>(), any::<bool>());
        let edit = edit.prop_map(|(old_text, new_text, first, all)| Replacement {
            old_text,
            new_text,
            first,
            all,
        });
        prop::collection::vec(edit, 0..4)
            .prop_map(|edits| json!(edits))
            .boxed()
    };
    let value_of = |name: &str, property: &Value| match (name, property["type"].to_string()) {
        ("edits", _) => edits(),
        ("lines", _) => line_edits(),
        ("exclude", _) => prop::collection::vec(any::<String>(), 1..3)
            .prop_map(Value::from)
            .boxed(),
        ("format", _) => prop::sample::select(&["text", "markdown", "html"][..])
            .prop_map(Value::from)
            .boxed(),
        (_, kind) if kind.contains("integer") => number(),
        (_, kind) if kind.contains("boolean") => truth(),
        _ => text(),
    };
    let schema = kind.schema();
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|required| required.iter().any(|entry| entry == name))
    };
    let fields: Vec<_> = schema["properties"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, property)| {
            let name = name.clone();
            let present = if required(&name) {
                Just(true).boxed()
            } else {
                any::<bool>().boxed()
            };
            (Just(name.clone()), present, value_of(&name, property))
        })
        .collect();
    fields
        .prop_map(|fields| {
            fields
                .into_iter()
                .filter(|(_, present, _)| *present)
                .map(|(name, _, value)| (name, value))
                .collect()
        })
        .boxed()
}

/// Edits of lines by number, sensible ones and others.
fn line_edits() -> BoxedStrategy<Value> {
    let insert = prop::option::of(prop::sample::select(&[Beside::Before, Beside::After][..]));
    let line = (
        0u64..9,
        0u64..9,
        "[a-b\n]{0,3}",
        insert,
        prop::option::of("[a-b]{0,2}"),
    );
    let line = line.prop_map(|(start, end, text, insert, expected)| LineEdit {
        start,
        end,
        text,
        insert,
        expected,
    });
    prop::collection::vec(line, 0..3)
        .prop_map(|lines| json!(lines))
        .boxed()
}

fn any_call() -> impl Strategy<Value = (OperationKind, Map<String, Value>)> {
    prop::sample::select(OperationKind::ALL)
        .prop_flat_map(|kind| arguments_of(kind).prop_map(move |arguments| (kind, arguments)))
}

/// The arguments with the working directory written out: leaving the path out and writing `.` mean the same call.
fn with_directory_told(kind: OperationKind, mut arguments: Map<String, Value>) -> Map<String, Value> {
    if matches!(
        kind,
        OperationKind::List | OperationKind::Find | OperationKind::Grep
    ) {
        arguments.entry("path").or_insert_with(|| ".".into());
    }
    arguments
}

proptest! {
    #[test]
    fn a_call_shown_in_foreign_words_comes_back_as_it_was((kind, own) in any_call()) {
        for profile in profiles() {
            let Some(face) = profile.face_for(kind, &own) else { continue };
            let foreign = (face.to_foreign)(&own);
            let back = (face.to_own)(foreign.clone());
            prop_assert_eq!(
                back.map(|back| with_directory_told(kind, back)),
                Ok(with_directory_told(kind, own.clone())),
                "{} {}: {:?}", profile.name, face.name, foreign
            );
        }
    }

    #[test]
    fn whatever_is_shown_can_be_read((kind, own) in any_call()) {
        for profile in profiles() {
            for face in profile.faces.iter().filter(|face| face.operation == kind) {
                let read = face.read((face.to_foreign)(&own));
                prop_assert!(read.is_ok(), "{} {}: {:?}", profile.name, face.name, read);
            }
        }
    }

    #[test]
    fn showing_twice_changes_nothing((kind, own) in any_call()) {
        for profile in profiles() {
            for face in profile.faces.iter().filter(|face| face.operation == kind) {
                let once = (face.to_foreign)(&own);
                let again = (face.to_own)(once.clone()).map(|back| (face.to_foreign)(&back));
                prop_assert_eq!(again, Ok(once), "{} {}", profile.name, face.name);
            }
        }
    }
}

#[test]
fn every_profile_maps_every_operation_or_lists_it_as_absent() {
    for profile in profiles() {
        for kind in OperationKind::ALL {
            let mapped = profile.faces.iter().any(|face| face.operation == *kind);
            let absent = profile.absent.contains(kind);
            assert!(mapped != absent, "{} {}", profile.name, kind.name());
        }
    }
}

#[test]
fn names_inside_a_profile_are_unique_and_profiles_carry_their_own_name() {
    for (name, profile) in profile_names().zip(profiles()) {
        assert_eq!(name, profile.name);
        for face in &profile.faces {
            let same = profile.faces.iter().filter(|other| other.name == face.name);
            assert_eq!(same.count(), 1, "{name} {}", face.name);
        }
    }
    assert!(profile_named("emacs").is_none());
}

#[test]
fn every_schema_describes_its_arguments_and_requires_only_what_it_has() {
    for profile in profiles() {
        for face in &profile.faces {
            let properties = face.parameters["properties"].as_object().unwrap();
            for (name, property) in properties {
                assert!(
                    property["description"].is_string(),
                    "{} {} {name}",
                    profile.name,
                    face.name
                );
            }
            for name in face.parameters["required"].as_array().into_iter().flatten() {
                assert!(
                    properties.contains_key(name.as_str().unwrap()),
                    "{} {name}",
                    face.name
                );
            }
        }
    }
}

/// Calls as the foreign systems write them, with becket's reading of each.
// tidy: a table
#[test]
fn foreign_calls_mean_what_their_systems_mean() {
    let cases = [
        (
            "chibi",
            "shell_exec",
            json!({"command": "ls", "timeout_secs": "5"}),
            json!({"command": "ls", "timeout_seconds": 5}),
        ),
        (
            "chibi",
            "file_lines",
            json!({"path": "a", "start": 3, "end": 7}),
            json!({"path": "a", "offset": 3, "limit": 5}),
        ),
        (
            "chibi",
            "shell_exec",
            json!({"command": "ls"}),
            json!({"command": "ls", "timeout_seconds": 30}),
        ),
        (
            "chibi",
            "file_head",
            json!({"path": "a", "lines": "20"}),
            json!({"path": "a", "limit": 20}),
        ),
        (
            "chibi",
            "file_head",
            json!({"path": "a"}),
            json!({"path": "a", "limit": 50}),
        ),
        (
            "chibi",
            "file_tail",
            json!({"path": "a", "lines": null}),
            json!({"path": "a", "tail": 50}),
        ),
        (
            "chibi",
            "file_tail",
            json!({"path": "a", "lines": "7"}),
            json!({"path": "a", "tail": 7}),
        ),
        (
            "chibi",
            "dir_list",
            json!({"path": "a"}),
            json!({"path": "a", "depth": 1, "hidden": false}),
        ),
        (
            "chibi",
            "dir_list",
            json!({"path": "a", "depth": "3", "show_hidden": "true"}),
            json!({"path": "a", "depth": 3, "hidden": true}),
        ),
        (
            "chibi",
            "glob_files",
            json!({"pattern": "*.rs"}),
            json!({"pattern": "*.rs", "limit": 100}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "replace_string", "find": "x", "replace": "y"}),
            json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y", "first": true}]}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "replace_lines", "line_start": "2", "line_end": 3, "content": "x"}),
            json!({"path": "a", "lines": [{"start": 2, "end": 3, "text": "x"}]}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "delete_lines", "line_start": 1, "line_end": 2, "find": ""}),
            json!({"path": "a", "lines": [{"start": 1, "end": 2, "text": ""}]}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "insert_before", "line_start": 4, "content": "x"}),
            json!({"path": "a", "lines": [{"start": 4, "end": 4, "text": "x", "insert": "before"}]}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "insert_after", "line_start": 4, "content": "x"}),
            json!({"path": "a", "lines": [{"start": 4, "end": 4, "text": "x", "insert": "after"}]}),
        ),
        (
            "chibi",
            "grep_files",
            json!({"pattern": "x", "file_pattern": "*.rs"}),
            json!({"pattern": "x", "glob": "*.rs", "context": 2, "limit": 50}),
        ),
        (
            "chibi",
            "file_grep",
            json!({"path": "a", "pattern": "x", "context_before": 1, "context_after": "4"}),
            json!({"path": "a", "pattern": "x", "context": 2, "before": 1, "after": 4}),
        ),
        (
            "chibi",
            "file_grep",
            json!({"path": "a", "pattern": "x", "context_before": 3, "context_after": 3}),
            json!({"path": "a", "pattern": "x", "context": 3}),
        ),
        (
            "chibi",
            "fetch_url",
            json!({"url": "https://a.example", "max_bytes": "9"}),
            json!({"url": "https://a.example", "timeout_seconds": 30, "max_bytes": 9}),
        ),
        (
            "docker-agent",
            "shell",
            json!({"cmd": "ls", "cwd": "/"}),
            json!({"command": "ls", "cwd": "/"}),
        ),
        (
            "docker-agent",
            "shell",
            json!({"command": "ls"}),
            json!({"command": "ls"}),
        ),
        (
            "docker-agent",
            "fetch",
            json!({"urls": ["https://a.example"], "format": "text"}),
            json!({"url": "https://a.example", "format": "text"}),
        ),
        (
            "docker-agent",
            "run_background_job",
            json!({"command": "serve"}),
            json!({"command": "serve", "background": true}),
        ),
        (
            "docker-agent",
            "read_file",
            json!({"path": "a", "line": "3", "limit": 2}),
            json!({"path": "a", "offset": 3, "limit": 2}),
        ),
        (
            "docker-agent",
            "directory_tree",
            json!({"path": "a"}),
            json!({"path": "a", "depth": 32, "skip_ignored": true}),
        ),
        (
            "docker-agent",
            "create_directory",
            json!({"paths": ["a"]}),
            json!({"path": "a"}),
        ),
        (
            "docker-agent",
            "edit_file",
            json!({"path": "a", "edits": "[{\"oldText\": \"x\", \"newText\": \"y\"}]"}),
            json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
        ),
        (
            "docker-agent",
            "search_files_content",
            json!({"path": ".", "query": "x", "excludePatterns": ["target/*"]}),
            json!({"path": ".", "pattern": "x", "exclude": ["target/*"], "literal": true}),
        ),
        (
            "docker-agent",
            "search_files_content",
            json!({"path": ".", "query": "a.b"}),
            json!({"path": ".", "pattern": "a.b", "literal": true}),
        ),
        (
            "docker-agent",
            "search_files_content",
            json!({"path": ".", "query": "a.b", "is_regex": true}),
            json!({"path": ".", "pattern": "a.b"}),
        ),
        (
            "docker-agent",
            "edit_file",
            json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}),
            json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
        ),
        (
            "pi",
            "bash",
            json!({"command": "ls", "timeout": 9}),
            json!({"command": "ls", "timeout_seconds": 9}),
        ),
        (
            "pi",
            "edit",
            json!({"path": "a", "oldText": "x", "newText": "y"}),
            json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
        ),
        (
            "pi",
            "grep",
            json!({"pattern": "x", "ignoreCase": true}),
            json!({"pattern": "x", "ignore_case": true}),
        ),
    ];
    for (profile, tool, foreign, own) in cases {
        let profile = profile_named(profile).unwrap();
        let read = profile
            .face_named(tool)
            .unwrap()
            .read_call(object(foreign))
            .unwrap();
        assert_eq!(Value::Object(read.arguments()), own, "{} {tool}", profile.name);
    }
}

// tidy: a table
#[test]
fn a_call_that_says_two_things_is_refused() {
    let cases = [
        (
            "docker-agent",
            "shell",
            json!({"cmd": "ls", "command": "rm -rf /"}),
        ),
        (
            "docker-agent",
            "fetch",
            json!({"urls": ["https://a.example"], "url": "https://b.example"}),
        ),
        (
            "docker-agent",
            "fetch",
            json!({"urls": ["https://a.example", "https://b.example"]}),
        ),
        (
            "docker-agent",
            "create_directory",
            json!({"paths": ["a"], "path": "b"}),
        ),
        ("docker-agent", "remove_directory", json!({"paths": []})),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "delete_lines", "line_start": 1, "line_end": 2, "content": "x"}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "delete_lines", "line_start": 3, "line_end": 2}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "insert_after", "line_start": 0, "content": "x"}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "replace_lines", "line_start": 1, "content": "x"}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "shuffle", "line_start": 1, "line_end": 2}),
        ),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "replace_string", "find": "x", "replace": "y", "line_start": 4}),
        ),
        (
            "chibi",
            "file_edit",
            json!({
                "path": "a", "operation": "replace_string", "find": "x", "replace": "y",
                "lines": [{"start": 1, "end": 1}],
            }),
        ),
        ("chibi", "dir_list", json!({"path": "a", "show_hidden": "maybe"})),
        (
            "chibi",
            "dir_list",
            json!({"path": "a", "show_hidden": "true", "hidden": false}),
        ),
        ("chibi", "file_tail", json!({"path": "a", "lines": "many"})),
        (
            "chibi",
            "file_edit",
            json!({"path": "a", "operation": "replace_string", "find": "x"}),
        ),
        ("chibi", "file_lines", json!({"path": "a", "start": 7, "end": 3})),
        ("chibi", "file_lines", json!({"path": "a", "start": 0, "end": 3})),
        (
            "pi",
            "edit",
            json!({"path": "a", "oldText": "x", "newText": "y", "edits": [{"oldText": "z", "newText": "y"}]}),
        ),
    ];
    for (profile, tool, foreign) in cases {
        let profile = profile_named(profile).unwrap();
        let read = profile.face_named(tool).unwrap().read(object(foreign.clone()));
        assert!(read.is_err(), "{} {tool} {foreign}: {read:?}", profile.name);
    }
}

#[test]
fn each_tool_of_a_toolset_is_one_of_the_profile() {
    let profile = profile_named("docker-agent").unwrap();
    let types = [
        "filesystem",
        "shell",
        "background_jobs",
        "fetch",
        "think",
        "todo",
        "memory",
    ];
    let mut named: Vec<&str> = Vec::new();
    for toolset in types {
        named.extend(becket_docker_agent::toolset_tools(toolset).unwrap());
    }
    // becket has another name for this tool.
    let own = |name: &str| {
        if name == "mark_todos" {
            "update_todos"
        } else {
            name
        }
        .to_owned()
    };
    let faces = profile.faces.iter().map(|face| face.name.to_owned());
    let plurals = profile.plurals.iter().map(|plural| plural.name.to_owned());
    let offered: std::collections::BTreeSet<String> = faces
        .chain(plurals)
        .chain(profile.extras.iter().map(|name| own(name)))
        // These belong to a team, not to a toolset.
        .filter(|name| !["transfer_task", "handoff"].contains(&name.as_str()))
        .collect();
    let named: std::collections::BTreeSet<String> = named.into_iter().map(ToOwned::to_owned).collect();
    assert_eq!(named, offered);
    assert!(becket_docker_agent::toolset_tools("emacs").is_none());
}

#[test]
fn a_job_is_shown_as_a_job_and_a_command_as_a_command() {
    let profile = profile_named("docker-agent").unwrap();
    for (arguments, name) in [
        (json!({"command": "ls"}), "shell"),
        (json!({"command": "ls", "background": true}), "run_background_job"),
    ] {
        let face = profile
            .face_for(OperationKind::Shell, &object(arguments))
            .unwrap();
        assert_eq!(face.name, name);
    }
}

#[test]
fn several_paths_are_several_calls() {
    let profile = profile_named("docker-agent").unwrap();
    let calls = |name: &str, arguments: Value| {
        let plural = profile.plurals.iter().find(|plural| plural.name == name).unwrap();
        let calls = (plural.apart)(&object(arguments))?;
        let arguments = calls.into_iter().map(|call| Value::Object(call.arguments));
        Ok::<_, String>(Value::Array(arguments.collect()))
    };
    assert_eq!(
        calls("read_multiple_files", json!({"paths": ["a", "b"], "json": true})),
        Ok(json!([{"path": "a"}, {"path": "b"}]))
    );
    assert_eq!(
        calls(
            "fetch",
            json!({"urls": ["x", "y"], "format": "html", "timeout": 3})
        ),
        Ok(json!([
            {"format": "html", "timeout_seconds": 3, "url": "x"},
            {"format": "html", "timeout_seconds": 3, "url": "y"},
        ]))
    );
    for (name, arguments) in [
        ("read_multiple_files", json!({"paths": "a"})),
        ("read_multiple_files", json!({"paths": ["a"], "json": "yes"})),
        ("read_multiple_files", json!({"paths": ["a"], "path": "b"})),
        ("create_directory", json!({"paths": ["a", 3]})),
        ("fetch", json!({})),
        ("fetch", json!({"urls": ["x", "y"], "url": "z"})),
    ] {
        assert!(calls(name, arguments.clone()).is_err(), "{name} {arguments}");
    }
}

#[test]
fn a_range_is_shown_as_a_range_and_a_whole_file_as_its_head() {
    let profile = profile_named("chibi").unwrap();
    let shown = |arguments: Value| {
        let arguments = object(arguments);
        let face = profile.face_for(OperationKind::Read, &arguments).unwrap();
        (face.name, Value::Object((face.to_foreign)(&arguments)))
    };
    assert_eq!(shown(json!({"path": "a"})), ("file_head", json!({"path": "a"})));
    assert_eq!(
        shown(json!({"path": "a", "limit": 9})),
        ("file_head", json!({"path": "a", "lines": 9}))
    );
    assert_eq!(
        shown(json!({"path": "a", "tail": 9})),
        ("file_tail", json!({"path": "a", "lines": 9}))
    );
    assert_eq!(
        shown(json!({"path": "a", "offset": 2, "limit": 9})),
        ("file_lines", json!({"path": "a", "start": 2, "end": 10}))
    );
    assert_eq!(
        shown(json!({"path": "a", "offset": 2})),
        ("file_lines", json!({"path": "a", "start": 2}))
    );
}

#[test]
fn a_default_counts_for_calls_and_not_for_rewrites() {
    let profile = profile_named("chibi").unwrap();
    let head = profile.face_named("file_head").unwrap();
    let path = || object(json!({"path": "a"}));
    let lines = |operation: becket_events::Operation| operation.arguments().get("limit").cloned();
    assert_eq!(lines(head.read_call(path()).unwrap()), Some(json!(50)));
    assert_eq!(
        lines(head.read(path()).unwrap()),
        None,
        "whoever saw a whole file means a whole file"
    );
}
