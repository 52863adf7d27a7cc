//! Settings that restrict, chibi's and becket's own: each of them counts, or nothing runs.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, OpenAiStream, Response, Room};

use crate::plugins::{bash, plugin};
use crate::room;

/// A room with a chibi home with these settings, for everything and for the context `work`.
fn with_settings(home: &str, context: &str) -> Room {
    let room = room();
    room.write("../home/.chibi/config.toml", home);
    room.write("../home/.chibi/contexts/work/local.toml", context);
    room
}

/// Lets a model ask for a call of the shell that leaves a file.
fn touch(room: &Room, options: &[&str]) -> Finished {
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch ran"}}]},
        {"text": "went on"},
    ]));
    room.run(
        [
            &["--yes", "--json", "-c", "work", "--model", &model],
            options,
            &["go"],
        ]
        .concat(),
    )
}

/// The names of the tools of the first request, and its body.
fn request(room: &Room) -> (Vec<String>, Value) {
    let server = ModelServer::start([Response::events(
        OpenAiStream::new("m").text("hello").finish("stop").done(),
    )]);
    let base = server.url();
    room.config(&format!(
        "model = \"openai/gpt\"\n[providers.openai]\nbase_url = \"{base}\"\nkey = \"k\"\n"
    ));
    room.run(["-c", "work", "hi"]).ended_with(0);
    let body = server.requests()[0].json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
    (tools.iter().map(name).collect(), body)
}

#[test]
fn tools_that_chibi_s_settings_take_away_neither_run_nor_are_offered() {
    let table = [
        ("[tools]\nexclude = [\"shell_exec\"]", "", false),
        ("[tools]\nexclude = [\"run_command\"]", "", false),
        ("[tools]\nexclude = [\"shell\"]", "", false),
        ("", "[tools]\nexclude = [\"shell_exec\"]", false),
        (
            "[tools]\nexclude = [\"shell_exec\"]",
            "[tools]\nexclude = []",
            false,
        ),
        ("[tools]\nexclude_categories = [\"shell\"]", "", false),
        ("[tools]\nexclude_categories = [\"coding\"]", "", false),
        ("", "[tools]\nexclude_categories = [\"shell\"]", false),
        ("[tools]\ninclude = [\"file_head\"]", "", false),
        ("[tools]\ninclude = []", "", false),
        ("no_tool_calls = true", "", false),
        ("", "no_tool_calls = true", false),
        ("[api]\ntool_choice = \"none\"", "", false),
        ("[tools]\ninclude = [\"shell_exec\"]", "", true),
        (
            "[tools]\ninclude = []",
            "[tools]\ninclude = [\"shell_exec\"]",
            true,
        ),
        ("no_tool_calls = true", "no_tool_calls = false", true),
        (
            "[tools]\nexclude = [\"fetch_url\"]\nexclude_categories = [\"mcp\", \"plugin\"]",
            "",
            true,
        ),
    ];
    for (home, context, runs) in table {
        let room = with_settings(home, context);
        let run = touch(&room, &[]).ended_with(0);
        assert_eq!(room.has("ran"), runs, "{home} {context}: {run:#?}");
        let (tools, _) = request(&room);
        assert_eq!(
            tools.contains(&"shell".into()),
            runs,
            "{home} {context}: {tools:?}"
        );
    }
}

#[test]
fn tools_of_plugins_are_taken_away_too() {
    for exclusion in [
        "exclude = [\"mine\"]",
        "exclude_categories = [\"plugin\"]",
        "include = [\"x\"]",
    ] {
        let room = with_settings(&format!("[tools]\n{exclusion}"), "");
        plugin(&room, "mine", &bash("mine", "", "touch \"$HOME/ran\""));
        let model = room.model(&json!([
            {"tool_calls": [{"name": "mine", "arguments": {}}]},
            {"text": "went on"},
        ]));
        room.run(["--yes", "--model", &model, "go"]).ended_with(0);
        assert!(!room.has("../home/ran"), "{exclusion}");
    }
}

#[test]
fn the_rest_of_chibi_s_settings_counts_in_the_request() {
    let home = "username = \"Ada\"\n[api]\ntemperature = 0.25\nmax_tokens = 77\ntop_p = 0.5\n";
    let (_, body) = request(&with_settings(home, ""));
    assert_eq!(
        (&body["temperature"], &body["top_p"]),
        (&json!(0.25), &json!(0.5))
    );
    assert!(body.to_string().contains(":77"), "{body}");
    assert!(
        body.to_string()
            .contains("The user speaking to you is called: Ada"),
        "{body}"
    );
    let (_, body) = request(&with_settings(
        home,
        "username = \"Bo\"\n[api]\ntemperature = 0.75\n",
    ));
    assert_eq!(body["temperature"], 0.75);
    assert!(body.to_string().contains("called: Bo"), "{body}");
    // Fuel ends a run that goes on and on.
    let room = with_settings("fuel = 1", "");
    let calls: Vec<Value> = (0..6)
        .map(|n| json!({"tool_calls": [{"name": "shell", "arguments": {"command": format!("touch f{n}")}}]}))
        .collect();
    let model = room.model(&json!(calls));
    room.run(["--yes", "--model", &model, "go"]);
    assert!(room.has("f0") && !room.has("f4"));
    // What is long is put aside.
    let room = with_settings("tool_output_cache_threshold = 100", "");
    let model = room.model(&json!([
        {"tool_calls": [{"name": "shell", "arguments": {"command": "seq 1 500"}}]},
        {"text": "went on"},
    ]));
    let run = room
        .run(["--yes", "--json", "--model", &model, "go"])
        .ended_with(0);
    assert_eq!(run.events_named("post_cache").len(), 1, "{run:#?}");
}

#[test]
fn folders_of_chibi_s_settings_are_read_without_a_question() {
    for (settings, is_read) in [("file_tools_allowed_paths = [\"~/notes\"]", true), ("", false)] {
        let room = with_settings(settings, "");
        let file = room.write("../home/notes/a.txt", "the note says so");
        let model = room.model(&json!([
            {"tool_calls": [{"name": "read", "arguments": {"path": file}}]},
            {"text": "went on"},
        ]));
        let run = room.run(["--json", "--model", &model, "go"]).ended_with(0);
        assert_eq!(
            run.stdout.contains("the note says so"),
            is_read,
            "{settings}: {run:#?}"
        );
    }
}

#[test]
fn what_is_not_served_is_named_and_what_restricts_ends_the_run() {
    let room = with_settings(
        "api_key = \"sk-secret\"\nverbose = true\n",
        "[storage]\nbytes_per_token = 4\n",
    );
    let run = touch(&room, &[]).ended_with(0);
    for words in [
        "config.toml: becket does not serve `api_key`, `verbose`",
        "local.toml: becket does not serve `storage",
    ] {
        assert_eq!(run.stderr.matches(words).count(), 1, "{run:#?}");
    }
    assert!(!run.stderr.contains("sk-secret"), "{run:#?}");
    room.run(["doctor"])
        .said("becket does not serve `api_key`, `verbose`");
    let table = [
        ("[tools]\nexcludes = [\"x\"]", "did you mean `tools.exclude`?"),
        ("[tools]\nnever = true", "`tools.never`"),
        ("no_tool_call = true", "did you mean `no_tool_calls`?"),
        (
            "[tools]\nexclude_categories = [\"shel\"]",
            "did you mean `shell`?",
        ),
        ("[tools]\nexclude = 3", "line 2"),
    ];
    for (settings, words) in table {
        for (home, context) in [(settings, ""), ("", settings)] {
            let room = with_settings(home, context);
            let run = touch(&room, &[]).ended_with(2).complained(words);
            let file = if home.is_empty() {
                "local.toml"
            } else {
                "config.toml"
            };
            assert!(run.stderr.contains(file) && !room.has("ran"), "{run:#?}");
            assert!(
                room.run(["-C", "work", "doctor"]).stdout.contains(words),
                "{settings}"
            );
        }
    }
}

#[test]
fn rules_in_a_foreign_spelling_end_the_start_with_becket_s_own() {
    let table = [
        ("shell(rm*)", "write `shell:command=rm*`"),
        ("Bash(rm:*)", "write `shell:command=rm*`"),
        (
            "WebFetch(domain:example.com)",
            "write `fetch:url=https://example.com/*`",
        ),
        ("Bash", "becket calls it `shell`"),
        ("bash", "becket calls it `shell`"),
        ("run_shell_command", "becket calls it `shell`"),
        ("Bash:command=rm*", "shell:command=rm*"),
        ("shel", "becket calls it `shell`"),
        ("no_such_tool_at_all", "names the tool `no_such_tool_at_all`"),
    ];
    for list in ["deny", "ask"] {
        for (rule, words) in table {
            let room = room();
            room.config(&format!("[permissions]\n{list} = [{}]\n", json!(rule)));
            touch(&room, &[]).ended_with(2).complained(words);
            assert!(!room.has("ran"), "{rule}");
        }
    }
    for rule in ["shell:command=rm*", "shell", "*", "mcp_*", "spawn_agent"] {
        let room = room();
        room.config(&format!("[permissions]\ndeny = [{}]\n", json!(rule)));
        touch(&room, &[]).ended_with(0);
    }
    // A name counts where the model knows it, or a guest has it.
    let room = room();
    room.config("[permissions]\ndeny = [\"bash\"]\n");
    let run = touch(&room, &["--tools", "pi"]).ended_with(0);
    assert!(!run.stderr.contains("does not exist, so"), "{run:#?}");
    let room = crate::room();
    plugin(&room, "mine", &bash("mine", "", "true"));
    room.config("[permissions]\ndeny = [\"mine\"]\n");
    touch(&room, &[]).ended_with(0);
}

#[test]
fn a_rule_may_name_a_tool_of_a_server_that_is_still_to_start() {
    let room = room();
    room.config(
        "[permissions]\ndeny = [\"files_remove\"]\n[mcp.servers.files]\ncommand = \"/no/such/server\"\n",
    );
    touch(&room, &[])
        .ended_with(0)
        .complained("`files_remove`, which does not exist");
}
