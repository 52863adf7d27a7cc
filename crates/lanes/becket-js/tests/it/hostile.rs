//! Extensions that mean harm, or are only badly written: each gets a useful error, and the rest goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::room::{Loaded, load, try_load};
use becket_hooks::{Cause, Failure, Field};
use becket_js::Limits;

/// Little memory, and little time for tests that wait for its end.
const LIMITS: Limits = Limits {
    memory: 24 << 20,
    stack: 512 << 10,
    timeout: Duration::from_millis(1500),
};

async fn with_limits(handlers: &str, limits: Limits) -> Loaded {
    let source = format!(
        "export default (pi: any) => {{ {handlers}\n pi.on('works', () => 1);
        pi.on('later', async () => {{ await null; return 2; }}); }};"
    );
    try_load(&[("index.ts", &source)], limits)
        .await
        .expect("it loads")
}

async fn works(loaded: &Loaded, after: &str) {
    let long = Duration::from_secs(20);
    for (name, answer) in [("works", "1"), ("later", "2")] {
        let answered = loaded.fire_within(long, name, Vec::new()).await;
        let answered = answered.unwrap_or_else(|failure| panic!("{name} after {after}: {failure}"));
        assert_eq!(answered.0.as_deref(), Some(answer), "after {after}");
    }
}

/// Handlers that never end by themselves, each in its own extension.
#[tokio::test]
async fn endless_code_is_ended_wherever_it_runs() {
    let cases = [
        ("a loop", "for (;;) {}"),
        (
            "a loop after an await",
            "return (async () => { await null; for (;;) {} })()",
        ),
        (
            "a loop after a timer",
            "return new Promise((done) => setTimeout(() => { for (;;) {} }, 1))",
        ),
        (
            "a catch around a loop",
            "for (;;) { try { for (;;) {} } catch {} finally { continue; } }",
        ),
        ("a regular expression", "/(a+)+$/.test('a'.repeat(40) + 'b')"),
        ("a getter of the answer", "return { get x() { for (;;) {} } }"),
        ("toJSON", "return { toJSON() { for (;;) {} } }"),
        ("then as a getter", "return { get then() { for (;;) {} } }"),
        ("a message as a getter", "throw { get message() { for (;;) {} } }"),
        (
            "a text of an error",
            "throw { toString() { for (;;) {} }, toJSON() { throw this } }",
        ),
        ("a proxy", "return new Proxy({}, { ownKeys() { for (;;) {} } })"),
        ("a sort", "new Array(1e5).fill(0).sort(() => { for (;;) {} })"),
        ("a promise without an end", "return new Promise(() => {})"),
        ("a thenable that never calls", "return { then() {} }"),
        ("a host call without an answer", "return pi.call('never', 1)"),
        (
            "a generator",
            "for (const _ of (function* () { for (;;) yield 1; })()) {}",
        ),
    ];
    for (what, body) in cases {
        let loaded = with_limits(&format!("pi.on('bad', () => {{ {body} }});"), LIMITS).await;
        let failure = loaded
            .fire_within(LIMITS.timeout, "bad", Vec::new())
            .await
            .expect_err(what);
        assert_eq!(failure.cause, Cause::TimedOut, "{what}: {failure}");
        works(&loaded, what).await;
    }
}

#[tokio::test]
async fn promises_that_never_rest_stop_the_extension_and_its_guards_refuse() {
    let source =
        "pi.on('bad', () => { (function again() { Promise.resolve().then(again); })(); return 1; });";
    let loaded = with_limits(source, LIMITS).await;
    let other = with_limits("", LIMITS).await;
    let first = loaded.fire_within(LIMITS.timeout, "bad", Vec::new()).await;
    assert_eq!(first.expect("it answered").0.as_deref(), Some("1"));
    let failure = loaded.fire("works", Vec::new()).await.expect_err("it is stopped");
    assert_eq!(failure.cause, Cause::TimedOut);
    assert!(
        failure
            .detail
            .contains("its promises went on for more than 1.5 s"),
        "{failure}"
    );
    let reports = loaded.reported("it was stopped").await;
    assert_eq!(reports.matches("it was stopped").count(), 1, "{reports}");
    works(&other, "another was stopped").await;
}

#[tokio::test]
async fn an_extension_that_never_finishes_loading_is_given_up() {
    for source in [
        "for (;;) {} export default () => {};",
        "await new Promise(() => {}); export default () => {};",
        "export default () => new Promise(() => {});",
        "export default () => { for (;;) {} };",
    ] {
        let failure = try_load(&[("index.ts", source)], LIMITS)
            .await
            .err()
            .expect(source);
        assert_eq!(failure.cause, Cause::TimedOut, "{source}: {failure}");
    }
}

#[tokio::test]
async fn a_loop_in_a_timer_is_reported_and_the_timer_of_others_goes_on() {
    let source = "setTimeout(() => { for (;;) {} }, 1); let n = 0; setInterval(() => { n++; }, 0);
        pi.on('rang', () => n > 2);";
    let loaded = with_limits(source, LIMITS).await;
    loaded.reported("no answer within 1.5 s").await;
    for _ in 0..2000 {
        if loaded.fire("rang", Vec::new()).await.expect("alive").0.as_deref() == Some("true") {
            return works(&loaded, "a loop in a timer").await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the interval has stopped");
}

#[tokio::test]
async fn memory_has_a_limit_whatever_it_is_used_for() {
    let patient = Limits {
        timeout: Duration::from_secs(60),
        ..LIMITS
    };
    let cases = [
        (
            "arrays",
            "const all = []; for (;;) all.push(new Array(1000).fill(1));",
        ),
        ("one text", "let text = 'x'; for (;;) text += text;"),
        (
            "texts",
            "const all = []; for (let i = 0;; i++) all.push('x'.repeat(100000) + i);",
        ),
        (
            "buffers",
            "const all = []; for (;;) all.push(new ArrayBuffer(1 << 20));",
        ),
        ("one buffer", "new Uint8Array(1 << 30);"),
        (
            "a map",
            "const all = new Map(); for (let i = 0;; i++) all.set(i, { i });",
        ),
        ("an answer", "return 'x'.repeat(10 << 20);"),
    ];
    for (what, body) in cases {
        let loaded = with_limits(&format!("pi.on('bad', () => {{ {body} }});"), patient).await;
        let failure = loaded
            .fire_within(patient.timeout, "bad", Vec::new())
            .await
            .expect_err(what);
        assert_eq!(failure.cause, Cause::Raised, "{what}: {failure}");
        assert!(!failure.detail.is_empty(), "{what}");
        works(&loaded, what).await;
    }
    let hoard = "(globalThis as any).hoard = []; for (;;) hoard.push(new Array(1000).fill(1));";
    for source in [
        format!("{hoard} export default () => {{}};"),
        format!("export default () => {{ {hoard} }};"),
    ] {
        let failure = try_load(&[("index.ts", &source)], patient)
            .await
            .err()
            .expect("too large");
        assert!(
            failure.detail.contains("out of memory") && failure.detail.contains("; it may use 24 MB"),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn what_is_kept_in_full_memory_fails_every_call_but_nothing_else() {
    let patient = Limits {
        timeout: Duration::from_secs(60),
        ..LIMITS
    };
    let source = "const hoard: any[] = [];
        pi.on('bad', () => { for (;;) hoard.push(new Array(100).fill(hoard.length)); });
        pi.on('free', () => { hoard.length = 0; });";
    let loaded = with_limits(source, patient).await;
    let other = with_limits("", LIMITS).await;
    let failure = loaded.fire("bad", Vec::new()).await.expect_err("too large");
    assert!(failure.detail.contains("out of memory"), "{failure}");
    let large = format!("[{}1]", "\"a text\",".repeat(10_000));
    let answered = loaded
        .fire("works", vec![Field::mutable("messages", large)])
        .await;
    assert!(matches!(answered, Ok((Some(_), _)) | Err(_)));
    works(&other, "another has no memory left").await;
}

#[tokio::test]
async fn deep_recursion_is_an_error() {
    deep_recursion(Limits::default()).await;
}

/// The threads of tests and workers have 2 MB of stack.
#[test]
fn deep_recursion_is_an_error_on_a_small_thread() {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime
            .expect("a runtime")
            .block_on(deep_recursion(Limits::default()));
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
    thread.expect("a thread").join().expect("no overflow");
}

async fn deep_recursion(limits: Limits) {
    let cases = [
        ("calls", "(function down() { down(); })();"),
        (
            "an answer",
            "let all: any = {}; for (let i = 0; i < 1e5; i++) all = { all }; return all;",
        ),
        ("parsing", "JSON.parse('['.repeat(1e6));"),
        ("an expression", "new RegExp('('.repeat(1e5) + ')'.repeat(1e5));"),
        (
            "source",
            "new Function('return ' + '('.repeat(1e5) + ')'.repeat(1e5));",
        ),
        ("getters", "const o: any = { get x() { return o.x; } }; return o;"),
        (
            "toString",
            "const o: any = { toString() { return `${o}`; } }; throw o;",
        ),
        (
            "a proxy of proxies",
            "let p: any = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x;",
        ),
    ];
    for (what, body) in cases {
        let loaded = with_limits(&format!("pi.on('bad', () => {{ {body} }});"), limits).await;
        let failure = loaded.fire("bad", Vec::new()).await.expect_err(what);
        assert_eq!(failure.cause, Cause::Raised, "{what}: {failure}");
        works(&loaded, what).await;
    }
}

#[tokio::test]
async fn there_are_only_so_many_timers_and_calls_at_a_time() {
    let source = "
        pi.on('timers', () => { for (let i = 0; i < 1e6; i++) setTimeout(() => {}, 1e6); });
        pi.on('calls', () => { for (let i = 0; i < 20100; i++) pi.call('never', i); });
        pi.on('many', async () => {
            const all = []; for (let i = 0; i < 3000; i++) all.push(pi.call('echo', i));
            return (await Promise.all(all)).length;
        });";
    let loaded = with_limits(source, Limits::default()).await;
    let many = loaded
        .fire_within(Duration::from_secs(60), "many", Vec::new())
        .await;
    assert_eq!(many.expect("so many are fine").0.as_deref(), Some("3000"));
    for (name, what) in [
        ("timers", "20000 timers"),
        ("calls", "20000 calls that wait for an answer"),
    ] {
        let failed = loaded
            .fire_within(Duration::from_secs(60), name, Vec::new())
            .await;
        // A call beyond the limit is a rejected promise.
        let failure = match (failed, name) {
            (Err(failure), _) => failure.to_string(),
            (Ok(_), _) => loaded.reported(what).await,
        };
        assert!(failure.contains(what), "{name}: {failure}");
        works(&loaded, name).await;
    }
}

#[tokio::test]
async fn what_is_built_in_can_be_replaced_without_harm() {
    let replaced = r#"
        const bad = () => { throw new Error("replaced"); };
        pi.on("guard", (event: any) => ({ block: event.input.command === "rm", large: event.messages.length }));
        pi.on("promised", async (event: any) => { await null; return { block: event.input.command === "rm" }; });
        pi.on("awaits", async () => ({ got: await pi.call("echo", 7) }));
        pi.on("timer", () => new Promise((done) => setTimeout(() => done(1), 1)));
        const { ownKeys, defineProperty } = Reflect;
        const names = ["get", "set", "value", "writable", "enumerable", "configurable", "message", "cause"];
        const types: any[] = [Map, Promise, Array, String, Function, Set, WeakMap, Reflect, JSON, Object];
        const globals = ["Map", "Promise", "JSON", "Object", "Error", "Reflect", "Array", "String"];
        const pollution = { __proto__: null, configurable: true, get: bad, set: bad };
        for (let at = 0; at < names.length; at++) defineProperty(Object.prototype, names[at], pollution);
        for (let at = 0; at < types.length; at++) {
            for (let side = 0; side < 2; side++) {
                const holder = side === 0 ? types[at] : types[at].prototype;
                const keys = holder ? ownKeys(holder) : [];
                for (let key = 0; key < keys.length; key++) {
                    if (keys[key] === "prototype" || keys[key] === "constructor" || keys[key] === "length") continue;
                    try { defineProperty(holder, keys[key], { __proto__: null, value: bad } as any); } catch {}
                }
            }
        }
        for (let at = 0; at < globals.length; at++) (globalThis as any)[globals[at]] = undefined;
    "#;
    let source = format!("export default (pi: any) => {{ {replaced} }};");
    let loaded = try_load(&[("index.ts", &source)], Limits::default())
        .await
        .expect("it loads");
    let fields = || {
        vec![
            Field::mutable("input", r#"{"command":"rm"}"#),
            Field::new("messages", format!("[{}1]", "\"a text\",".repeat(500))),
        ]
    };
    let guard = loaded.fire("guard", fields()).await.expect("an answer");
    assert_eq!(guard, (Some(r#"{"block":true,"large":501}"#.into()), vec![]));
    let promised = loaded.fire("promised", fields()).await.expect("an answer");
    assert_eq!(promised.0.as_deref(), Some(r#"{"block":true}"#));
    let awaits = loaded.fire("awaits", fields()).await.expect("an answer");
    assert_eq!(awaits.0.as_deref(), Some(r#"{"got":7}"#));
}

#[tokio::test]
async fn the_way_in_cannot_be_tampered_with() {
    let source = r#"
        const becket = (globalThis as any).__becket;
        const tried: string[] = [];
        const attempt = (name: string, run: () => void) => { try { run(); tried.push(name); } catch {} };
        attempt("replace", () => { (globalThis as any).__becket = {}; });
        attempt("delete", () => { delete (globalThis as any).__becket; });
        attempt("define", () => Object.defineProperty(globalThis, "__becket", { value: {} }));
        attempt("host", () => { becket.host.call = () => 1; });
        attempt("native", () => { becket.native.call = () => 1; });
        attempt("keep", () => { becket.keep = () => 1; });
        pi.on("tried", () => tried);"#;
    let loaded = with_limits(source, Limits::default()).await;
    let tried = loaded.fire("tried", Vec::new()).await.expect("an answer");
    assert_eq!(tried.0.as_deref(), Some("[]"));
}

#[tokio::test]
async fn odd_answers_are_failures_that_say_what() {
    let cases = [
        (
            "const o: any = {}; o.o = o; return o;",
            "what the handler returned cannot be written as JSON: circular",
        ),
        (
            "return { n: 1n };",
            "what the handler returned cannot be written as JSON",
        ),
        (
            "return new Proxy({}, { get() { throw new Error('not today'); } });",
            "not today",
        ),
        (
            "return Object.create(null, { then: { get() { throw new Error('no then') } } });",
            "no then",
        ),
        ("event.input = 1n;", "input cannot be written as JSON"),
        (
            "event.input.self = event.input;",
            "input cannot be written as JSON: circular",
        ),
    ];
    for (body, words) in cases {
        let loaded = with_limits(&format!("pi.on('odd', (event: any) => {{ {body} }});"), LIMITS).await;
        let fields = vec![Field::mutable("input", "{}")];
        let failure = loaded.fire("odd", fields).await.expect_err(body);
        assert_eq!(failure.cause, Cause::Raised, "{body}");
        assert!(failure.detail.contains(words), "{body}: {}", failure.detail);
        works(&loaded, body).await;
    }
    let fine = with_limits(
        "pi.on('twice', () => new Promise((done, failed) => { done(1); done(2); failed(new Error('late')); }));
         pi.on('function', () => () => 1); pi.on('symbol', () => Symbol('x'));
         pi.on('thenable', () => ({ then(done: any) { done({ x: 1 }); done(2); } }));
         pi.on('revoked', () => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy; });",
        LIMITS,
    )
    .await;
    for (name, answer) in [
        ("twice", Some("1")),
        ("function", None),
        ("symbol", None),
        ("thenable", Some(r#"{"x":1}"#)),
    ] {
        let answered = fine
            .fire(name, Vec::new())
            .await
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert_eq!(answered.0.as_deref(), answer, "{name}");
    }
    assert!(fine.fire("revoked", Vec::new()).await.is_err());
    works(&fine, "odd answers").await;
}

#[tokio::test]
async fn an_extension_can_be_dropped_while_its_promises_and_timers_are_on_their_way() {
    let source = "
        setInterval(() => { throw new Error('too late'); }, 1000000);
        pi.on('floats', () => {
            pi.call('nothing', 1).then(() => {}); setTimeout(() => { throw new Error('x'); }, 1);
        });
        pi.on('cycle', (event: any) => { event.self = new Promise(() => { void event; }); return event.self; });";
    let loaded = with_limits(source, LIMITS).await;
    let waiting = loaded
        .fire_within(Duration::from_millis(10), "cycle", Vec::new())
        .await;
    assert_eq!(waiting.expect_err("it never ends").cause, Cause::TimedOut);
    loaded
        .fire("floats", Vec::new())
        .await
        .expect("nothing is wrong yet");
    let Loaded { room, extension, .. } = loaded;
    drop(extension);
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(*room.reports.lock().expect("no panic"), []);
}

#[tokio::test]
async fn a_cancel_ends_running_code_and_nothing_for_good() {
    let handlers = "pi.on('loop', () => { for (;;) {} });
        pi.on('program', () => {
            try { require('child_process').execSync('sleep 600'); } finally { for (;;) {} }
        });";
    let loaded = with_limits(handlers, Limits::default()).await;
    // It is unknown when the code begins, so it is cancelled again and again.
    let (told, enough) = (Arc::clone(&loaded.room), Arc::new(AtomicBool::new(false)));
    let stop = Arc::clone(&enough);
    let telling = std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            told.cancels.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let failure: Failure = loaded
        .fire("loop", Vec::new())
        .await
        .expect_err("it is cancelled");
    assert_eq!(failure.cause, Cause::KilledBySignal, "{failure}");
    let program = loaded.fire("program", Vec::new()).await;
    enough.store(true, Ordering::Relaxed);
    telling.join().expect("it ends");
    let failure = program.expect_err("it is cancelled");
    assert_eq!(failure.cause, Cause::KilledBySignal, "{failure}");
    works(&loaded, "a cancel").await;
}

#[tokio::test]
async fn the_clock_stands_still_while_a_person_answers() {
    let loaded = load(
        "export default (pi: any) => {
            pi.on('asks', async () => {
                await new Promise((r) => setTimeout(r, 400));
                return 1;
            });
            pi.on('never', () => new Promise(() => {}));
        };",
    )
    .await;
    let short = Duration::from_millis(100);
    let failure = loaded
        .fire_within(short, "never", Vec::new())
        .await
        .expect_err("too slow");
    assert_eq!(failure.cause, Cause::TimedOut);
    let pause = loaded.extension.pause_clock();
    let asked = loaded.fire_within(short, "asks", Vec::new()).await;
    assert_eq!(asked.expect("the user had all the time").0.as_deref(), Some("1"));
    // When the dialog ends without an answer of the handler, its time goes on from where it stopped.
    let waiting = loaded.fire_within(short, "never", Vec::new());
    let end = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(pause);
    };
    let (answered, ()) = tokio::join!(waiting, end);
    assert_eq!(answered.expect_err("too slow").cause, Cause::TimedOut);
}

#[tokio::test]
async fn a_handler_ends_soon_after_its_own_deadline_though_others_may_take_longer() {
    let patient = Limits {
        timeout: Duration::from_secs(600),
        ..LIMITS
    };
    let source = "pi.on('bad', () => pi.call('echo', 1).then(() => { for (;;) {} }));";
    let loaded = with_limits(source, patient).await;
    let began = std::time::Instant::now();
    let failure = loaded.fire_within(LIMITS.timeout, "bad", Vec::new()).await;
    assert_eq!(failure.expect_err("it never ends").cause, Cause::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    works(&loaded, "a loop after a host call").await;
}
