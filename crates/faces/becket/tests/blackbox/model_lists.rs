//! `becket models`: what providers list, what is kept of it, and what it changes.

use serde_json::{Value, json};
use testkit::{ModelServer, Response, Room};

use crate::room;

fn list() -> Response {
    Response::json(
        200,
        &json!({"data": [
            {"id": "big", "context_length": 9_000, "max_output_tokens": 700},
            {"id": "gpt-4.1", "created": 1},
            {"id": "evil\u{1b}[2J"},
        ]}),
    )
}

fn at(server: &ModelServer) -> Room {
    room()
        .with("OPENAI_API_KEY", "k-123456789")
        .with("OPENAI_BASE_URL", &server.url())
}

fn named<'a>(models: &'a [Value], name: &str) -> &'a Value {
    let model = models.iter().find(|model| model["model"] == name);
    model.unwrap_or_else(|| panic!("{name} is listed: {models:?}"))
}

#[test]
fn a_provider_is_asked_once_and_again_when_that_is_wanted() {
    let server = ModelServer::answering(|_| list());
    let room = at(&server);
    let ask = ["--json", "models", "--provider", "openai"];
    let models = room.run(ask).ended_with(0).events();
    assert_eq!(models.len(), 3, "{models:?}");
    let big = named(&models, "big");
    assert_eq!(
        (
            &big["provider"],
            &big["context_window"],
            &big["max_tokens"],
            &big["price"]
        ),
        (&json!("openai"), &json!(9_000), &json!(700), &Value::Null)
    );
    let known = named(&models, "gpt-4.1");
    assert_eq!(
        (&known["max_tokens"], &known["thinks"], &known["sees_pictures"]),
        (&json!(32_768), &json!(false), &json!(true)),
        "the table knows what the list does not say"
    );
    room.run(ask).ended_with(0).complained("`--refresh` asks again");
    assert_eq!(server.requests().len(), 1, "the list was kept");
    room.run(["models", "--provider", "openai", "--refresh", "big"])
        .ended_with(0)
        .said("9K");
    assert_eq!(server.requests().len(), 2);
    let request = &server.requests()[0];
    assert_eq!((&*request.method, &*request.path), ("GET", "/v1/models"));
    assert!(!room.run(["models"]).ended_with(0).stdout.contains('\x1b'));
}

#[test]
fn models_with_a_price_are_known_before_anybody_is_asked() {
    let room = room().with("ANTHROPIC_API_KEY", "k-123456789");
    let models = room.run(["--json", "models"]).ended_with(0).events();
    let claude = named(&models, "claude-opus-4-1");
    assert_eq!(
        (&claude["provider"], &claude["price"]["output"]),
        (&json!("anthropic"), &json!(75.0))
    );
    assert!(
        !models.iter().any(|model| model["provider"] == "gemini"),
        "there is no key: {models:?}"
    );
}

#[test]
fn settings_go_before_lists_and_lists_drive_compaction() {
    let server = ModelServer::answering(|_| list());
    let room = at(&server);
    room.run(["models", "--refresh", "--provider", "openai"])
        .ended_with(0);
    room.run(["--model", "openai/big", "config"])
        .ended_with(0)
        .said("at 80 % of 9000 tokens");
    room.config(
        "[compaction.context_windows]\n\"openai/big\" = 5000\n[prices.\"openai/big\"]\ninput = 2.0\noutput = 3.0\n",
    );
    let models = room
        .run(["--json", "models", "--provider", "openai"])
        .ended_with(0)
        .events();
    let big = named(&models, "big");
    assert_eq!(
        (&big["context_window"], &big["price"]["input"]),
        (&json!(5_000), &json!(2.0))
    );
    room.run(["--model", "openai/big", "config"])
        .ended_with(0)
        .said("at 80 % of 5000 tokens");
    // A list is of one address: elsewhere there may be other models.
    let other = ModelServer::answering(|_| Response::json(200, &json!({"data": [{"id": "only"}]})));
    let room = room.with("OPENAI_BASE_URL", &other.url());
    let models = room
        .run(["--json", "models", "--provider", "openai"])
        .ended_with(0)
        .events();
    // The provider's usual model is there without a list.
    let names: Vec<&Value> = models.iter().map(|model| &model["model"]).collect();
    assert_eq!(names, ["gpt-4.1", "only"]);
}

#[test]
fn a_provider_that_lists_nothing_is_named_and_no_key_is_shown() {
    let server =
        ModelServer::answering(|_| Response::json(401, &json!({"error": {"message": "bad k-123456789"}})));
    let room = at(&server);
    let run = room
        .run(["models", "--provider", "openai"])
        .ended_with(3)
        .complained("openai does not list its models");
    assert!(!run.stderr.contains("k-123456789"), "{}", run.stderr);
    room.run(["models", "--refresh"])
        .ended_with(0)
        .complained("openai does not list its models");
    room.run(["models", "--provider", "nobody"])
        .ended_with(2)
        .complained("there is no provider `nobody`");
    let garbage = ModelServer::answering(|_| Response::new(200, "application/json", "{\"data\": 7"));
    let room = room.with("OPENAI_BASE_URL", &garbage.url());
    room.run(["models", "--provider", "openai"])
        .ended_with(3)
        .complained("cannot be read");
}

#[test]
fn a_list_that_is_none_is_told_with_cause_and_address_and_the_kept_one_stays() {
    let good = ModelServer::answering(|_| list());
    let room = at(&good);
    room.run(["models", "--provider", "openai"]).ended_with(0);
    let page = "<html><head><title>Sign in</title></head></html>";
    let endless = format!("{{\"data\": [{}", "{\"id\": \"m\"},".repeat(800_000));
    for (answer, why) in [
        (
            Response::new(200, "text/html; charset=utf-8", page),
            "answered with a web page (Sign in); check the base URL",
        ),
        (
            Response::new(200, "application/json", page),
            "its list of models cannot be read: it is no JSON",
        ),
        (
            Response::new(200, "application/json", "{\"models\": {}}"),
            "its list of models cannot be read: it is no list of models",
        ),
        (
            Response::new(200, "application/json", endless),
            "its list of models is larger than 8 MiB",
        ),
    ] {
        good.push(answer);
        let run = room.run(["models", "--provider", "openai", "--refresh"]);
        let run = run.ended_with(3).complained(why);
        assert!(run.stderr.trim_end().ends_with("/v1/models"), "{}", run.stderr);
        room.run(["models", "--provider", "openai"])
            .ended_with(0)
            .said("big");
    }
}

#[test]
fn a_list_with_pages_is_read_to_its_end() {
    let server = ModelServer::answering(|request| {
        let page = match request.path.contains("after_id=m1") {
            true => json!({"data": [{"id": "m2"}], "has_more": false, "last_id": "m2"}),
            false => json!({"data": [{"id": "m1"}], "has_more": true, "last_id": "m1"}),
        };
        Response::json(200, &page)
    });
    let room = room()
        .with("ANTHROPIC_API_KEY", "k-123456789")
        .with("ANTHROPIC_BASE_URL", &server.url());
    let run = room.run(["--json", "models", "--provider", "anthropic", "m"]);
    let models = run.ended_with(0).events();
    named(&models, "m1");
    named(&models, "m2");
    assert_eq!(server.requests().len(), 2);
}
