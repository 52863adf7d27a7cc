//! Extensions as files in a folder, with a small prelude in place of a real one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::room::{Room, folder, kit, load, surroundings, try_load};
use becket_hooks::{Cause, Field};
use becket_js::{Kit, Limits, Prepared};

#[tokio::test]
async fn a_handler_answers_at_once_or_in_its_own_time() {
    let loaded = load(
        r#"
        enum Mode { Loud = "loud" }
        class Greeter { constructor(private greeting: string) {} greet(name: string) { return this.greeting + name; } }
        export default function (pi: any) {
            const greeter = new Greeter("hello ");
            pi.on("now", (event: { name: string }) => ({ text: greeter.greet(event.name), mode: Mode.Loud }));
            pi.on("later", async (event: any) => ({ got: await pi.call("echo", { name: event.name }) }));
            pi.on("nothing", async () => {});
            pi.on("timer", () => new Promise((done) => setTimeout(() => done({ rang: true }), 5)));
        }
    "#,
    )
    .await;
    let name = || vec![Field::new("name", "\"you\"")];
    let (now, _) = loaded.fire("now", name()).await.expect("an answer");
    assert_eq!(now.as_deref(), Some(r#"{"text":"hello you","mode":"loud"}"#));
    let (later, _) = loaded.fire("later", name()).await.expect("an answer");
    assert_eq!(later.as_deref(), Some(r#"{"got":{"name":"you"}}"#));
    assert_eq!(
        loaded.fire("nothing", name()).await.expect("an answer"),
        (None, vec![])
    );
    let (rang, _) = loaded.fire("timer", Vec::new()).await.expect("an answer");
    assert_eq!(rang.as_deref(), Some(r#"{"rang":true}"#));
}

#[tokio::test]
async fn changes_inside_of_mutable_fields_come_back() {
    let loaded = load(
        r#"export default (pi: any) => {
            pi.on("small", (event: any) => { event.input.command = "ls"; event.other.x = 1; });
            pi.on("large", (event: any) => { event.messages.pop(); });
            pi.on("ignored", (event: any) => { void event.other; });
        };"#,
    )
    .await;
    let large = format!("[{}\"end\"]", "\"word\",".repeat(200));
    let fields = || {
        vec![
            Field::mutable("input", r#"{"command":"rm","price":1.0}"#),
            Field::mutable("messages", large.clone()),
            Field::new("other", "{}"),
        ]
    };
    let (_, changed) = loaded.fire("small", fields()).await.expect("an answer");
    assert_eq!(changed, [("input", r#"{"command":"ls","price":1}"#.to_string())]);
    let (_, changed) = loaded.fire("large", fields()).await.expect("an answer");
    assert_eq!(changed.len(), 1);
    assert_eq!((changed[0].0, changed[0].1.contains("end")), ("messages", false));
    assert_eq!(
        loaded.fire("ignored", fields()).await.expect("an answer"),
        (None, vec![])
    );
}

#[tokio::test]
async fn what_breaks_is_a_failure_and_kills_nothing() {
    let loaded = load(
        r#"export default (pi: any) => {
            pi.on("throws", () => { throw new Error("no thanks"); });
            pi.on("rejects", async () => { await pi.call("nothing"); });
            pi.on("timer", () => { setTimeout(() => { throw new Error("in a timer"); }, 1); });
            pi.on("floats", () => { Promise.reject(new Error("nobody cares")); });
            pi.on("works", () => 1);
        };"#,
    )
    .await;
    let failure = loaded.fire("throws", Vec::new()).await.expect_err("it throws");
    assert_eq!(failure.cause, Cause::Raised);
    assert!(failure.detail.contains("no thanks"), "{}", failure.detail);
    let failure = loaded.fire("rejects", Vec::new()).await.expect_err("it rejects");
    assert!(failure.detail.contains("no nothing here"), "{}", failure.detail);
    loaded
        .fire("timer", Vec::new())
        .await
        .expect("the handler itself is fine");
    loaded
        .fire("floats", Vec::new())
        .await
        .expect("the handler itself is fine");
    for _ in 0..2000 {
        if loaded.room.reports.lock().expect("no panic").len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let reports = format!("{:?}", loaded.room.reports.lock().expect("no panic"));
    assert!(
        reports.contains("in a timer") && reports.contains("nobody cares"),
        "{reports}"
    );
    assert_eq!(
        loaded
            .fire("works", Vec::new())
            .await
            .expect("alive")
            .0
            .as_deref(),
        Some("1")
    );
}

#[tokio::test]
async fn what_does_not_end_is_ended() {
    let limits = Limits {
        timeout: Duration::from_secs(3),
        memory: 16 << 20,
        ..Limits::default()
    };
    let source = r#"export default (pi: any) => {
        pi.on("loop", () => { for (;;) {} });
        pi.on("never", () => new Promise(() => {}));
        pi.on("bomb", () => { const all = []; for (;;) all.push(new Array(1000).fill(1)); });
        pi.on("works", () => 1);
    };"#;
    let loaded = try_load(&[("index.ts", source)], limits).await.expect("it loads");
    let handlers = loaded.room.handlers.lock().expect("no panic").clone();
    // The bomb has time enough to reach its memory limit, and handlers that work have all the time they want.
    let timeout = |name: &str| {
        if matches!(name, "bomb" | "works") {
            Duration::from_secs(20)
        } else {
            limits.timeout
        }
    };
    let fire = |name: &str| {
        let number = handlers
            .iter()
            .find(|(known, _)| known == name)
            .expect("a handler")
            .1;
        loaded.extension.handler(number, timeout(name))
    };
    for (name, cause) in [
        ("loop", Cause::TimedOut),
        ("never", Cause::TimedOut),
        ("bomb", Cause::Raised),
    ] {
        let failure = fire(name).call(Vec::new()).await.expect_err(name);
        assert_eq!(failure.cause, cause, "{name}: {}", failure.detail);
        let answered = fire("works").call(Vec::new()).await.expect("alive");
        assert_eq!(answered.returned.as_deref(), Some("1"), "after {name}");
    }
}

#[tokio::test]
async fn modules_are_found_as_their_authors_wrote_them() {
    let files = [
        (
            "index.ts",
            r#"import { one } from "./one.js"; import two from "./two"; import { three } from "./three";
            export default (pi: any) => pi.on("sum", () => one + two + three);"#,
        ),
        ("one.ts", "export const one: number = 1;"),
        ("two.js", "export default 2;"),
        ("three/index.ts", "export const three = 3;"),
    ];
    let loaded = try_load(&files, Limits::default()).await.expect("it loads");
    assert_eq!(
        loaded.fire("sum", Vec::new()).await.expect("a sum").0.as_deref(),
        Some("6")
    );
    let missing = [(
        "index.ts",
        r#"import x from "not-there"; export default () => x;"#,
    )];
    let failure = try_load(&missing, Limits::default())
        .await
        .err()
        .expect("it cannot load");
    assert!(failure.detail.contains("not-there"), "{}", failure.detail);
    let wrong = [("index.ts", "export default (] => 1;")];
    assert!(try_load(&wrong, Limits::default()).await.is_err());
}

#[tokio::test]
async fn namespaces_and_decorators_work() {
    let loaded = load(
        r#"
        namespace Tools {
            export const unit = "cm";
            export namespace Deep { export function long(n: number) { return `${n} ${unit}`; } }
            export enum Size { Small = 1, Large }
        }
        const seen: string[] = [];
        const named = (name: string) => (target: any) => { seen.push(`class ${name}`); target.label = name; };
        const loud = (_: any, key: string, found: PropertyDescriptor) => {
            const run = found.value;
            found.value = function (...all: any[]) { return `${key}: ${run.apply(this, all)}!`; };
        };
        const noted = (_: any, key: string) => { seen.push(`field ${key}`); };
        const given = (_: any, key: string, index: number) => { seen.push(`argument ${index} of ${key}`); };
        const twice = (target: any) => class extends target { count = 2; } as any;

        @named("meter") @twice
        class Meter {
            @noted kind = "line";
            count = 1;
            @loud measure(@given n: number) { return Tools.Deep.long(n * this.count); }
            @loud static about() { return "measures"; }
        }
        export default function (pi: any) {
            pi.on("go", () => [
                new Meter().measure(4), Meter.about(), (Meter as any).label, Tools.Size.Large, new Meter().kind, seen,
            ]);
        }
    "#,
    )
    .await;
    let (answer, _) = loaded.fire("go", Vec::new()).await.expect("an answer");
    let answer: serde_json::Value = serde_json::from_str(&answer.expect("something")).expect("JSON");
    assert_eq!(
        answer,
        serde_json::json!([
            "measure: 8 cm!",
            "about: measures!",
            "meter",
            2,
            "line",
            ["field kind", "argument 0 of measure", "class meter"]
        ])
    );
}

#[tokio::test]
async fn a_large_field_that_nobody_reads_is_never_parsed() {
    let loaded = load(
        r#"export default (pi: any) => {
            pi.on("ignores", (event: any) => ({ small: event.small, names: Object.keys(event).sort() }));
            pi.on("reads", (event: any) => event.messages.length);
        };"#,
    )
    .await;
    // Parsing this fails.
    let broken = format!("[{} this is not JSON", "\"word\", ".repeat(2_000));
    let fields = || vec![Field::new("small", "1"), Field::new("messages", broken.clone())];
    let (answer, changed) = loaded.fire("ignores", fields()).await.expect("an answer");
    assert_eq!(
        answer.as_deref(),
        Some(r#"{"small":1,"names":["messages","small"]}"#)
    );
    assert!(changed.is_empty());
    let failure = loaded.fire("reads", fields()).await.expect_err("no JSON");
    assert!(failure.to_string().contains("SyntaxError"), "{failure}");
}

#[tokio::test]
async fn engines_start_together_and_extensions_run_in_their_order() {
    let script = |number: usize| {
        format!(
            "export default (pi: any) => {{ pi.on('{number}', () => \
             new Promise((done) => setTimeout(() => done({{ rang: {number} }}), 1))); }};"
        )
    };
    let scripts: Vec<(String, String)> = (0..12)
        .map(|number| (format!("{number}.ts"), script(number)))
        .collect();
    let files: Vec<(&str, &str)> = scripts
        .iter()
        .filter(|(name, _)| name != "5.ts")
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let folder = folder(&files);
    let room = Arc::<Room>::default();
    let kit = Arc::new(Kit {
        surroundings: surroundings(&folder),
        ..kit(&room, Limits::default(), None)
    });
    let paths: Vec<PathBuf> = scripts.iter().map(|(name, _)| folder.0.join(name)).collect();
    let named: Vec<(&str, &Path)> = paths.iter().map(|path| ("x", path.as_path())).collect();
    let prepared = Prepared::all(&kit, &named);
    assert!(
        room.handlers.lock().expect("no panic").is_empty(),
        "nothing has run yet"
    );
    let mut loaded = Vec::new();
    for (number, prepared) in prepared.into_iter().enumerate() {
        let result = match prepared {
            Ok(prepared) => prepared.load().await,
            Err(failure) => Err(failure),
        };
        assert_eq!(result.is_err(), number == 5, "{number}");
        loaded.extend(result);
    }
    let handlers = room.handlers.lock().expect("no panic").clone();
    let names: Vec<&str> = handlers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["0", "1", "2", "3", "4", "6", "7", "8", "9", "10", "11"]);
    for (extension, (name, number)) in loaded.iter().zip(&handlers) {
        let handler = extension.handler(*number, Duration::from_secs(30));
        let answered = handler.call(Vec::new()).await.expect("an answer");
        assert_eq!(answered.returned, Some(format!("{{\"rang\":{name}}}")));
    }
}
