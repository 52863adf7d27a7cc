//! Node's modules against Node itself: files of expressions, evaluated in both and compared.

use std::process::Command;

use serde_json::Value;
use testkit::needs;

use crate::room::load;

/// JavaScript that evaluates each line of a file, and shows results and errors alike.
const EVALUATE: &str = r#"
    const shown = (value) => value === undefined ? "undefined" : typeof value === "function" ? "function"
        : typeof value === "bigint" ? `${value}n` : typeof value === "number" && !Number.isFinite(value) ? String(value)
        : Object.is(value, -0) ? "-0" : JSON.parse(JSON.stringify(value, (key, one) =>
            typeof one === "bigint" ? `${one}n` : typeof one === "string" ? one.toWellFormed() : one) ?? "null");
    const results = [];
    for (const line of lines) {
        try {
            results.push([line, shown(await new AsyncFunction("require", "use", `return (${line}\n)`)(require, use))]);
        } catch (error) {
            results.push([line, `${error?.name} ${error?.code}: ${error?.message}`]);
        }
    }
    return results;
"#;

async fn compare(table: &str) {
    if !needs("node") {
        return;
    }
    let lines: Vec<&str> = table
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .collect();
    let lines = serde_json::to_string(&lines).expect("JSON");
    let body = format!(
        "const AsyncFunction = (async () => {{}}).constructor; const use = {{}}; const lines = {lines}; {EVALUATE}"
    );
    // Node ends when nothing is left that keeps it alive; the timer of a signal does not.
    let program = format!(
        "const alive = setInterval(() => {{}}, 1000); (async () => {{ {body} }})().then((all) => {{ \
         console.log(JSON.stringify(all)); clearInterval(alive); }})"
    );
    let output = Command::new("node")
        .args(["-e", &program])
        .env("TZ", "UTC")
        .output()
        .expect("node runs");
    let expected: Vec<(String, Value)> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let source = format!(
        "import {{ createRequire }} from 'node:module'; const require = createRequire(import.meta.url);
        export default (pi: any) => pi.on('all', async () => {{ {body} }});"
    );
    let found = load(&source).await.value("all").await;
    let found: Vec<(String, Value)> = serde_json::from_value(found).expect("pairs");
    let differences: Vec<String> = expected
        .iter()
        .zip(&found)
        .filter(|(expected, found)| expected != found)
        .map(|((line, expected), (_, found))| format!("{line}\n  node:   {expected}\n  becket: {found}"))
        .collect();
    assert_eq!(expected.len(), found.len());
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        expected.len(),
        differences.join("\n")
    );
}

#[tokio::test]
async fn path() {
    compare(include_str!("tables/path.js")).await;
}

#[tokio::test]
async fn buffer() {
    compare(include_str!("tables/buffer.js")).await;
}

#[tokio::test]
async fn url() {
    compare(include_str!("tables/url.js")).await;
}

#[tokio::test]
async fn util() {
    compare(include_str!("tables/util.js")).await;
}

#[tokio::test]
async fn events_and_streams() {
    compare(include_str!("tables/events.js")).await;
}

#[tokio::test]
async fn crypto() {
    compare(include_str!("tables/crypto.js")).await;
}

#[tokio::test]
async fn zlib() {
    compare(include_str!("tables/zlib.js")).await;
}

#[tokio::test]
async fn smaller_modules() {
    compare(include_str!("tables/others.js")).await;
}

#[tokio::test]
async fn assert_and_globals() {
    compare(include_str!("tables/globals.js")).await;
}
