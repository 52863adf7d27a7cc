//! `becket url`: what the policy says about URLs.

use becket_agent::url_policy::{UrlClass, UrlJudge, UrlVerdict, read_url, without_credentials};
use becket_face_kit::runtime;
use becket_run::setup::Setup;
use becket_run::target::ContextChoice;
use becket_run::urls::url_judge;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::{Value, json};

use crate::args::UrlCommand;
use crate::options::Options;
use crate::printing::print;

/// Judges URLs. Nothing is fetched, but names are looked up.
pub fn run(options: &Options, command: UrlCommand, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let UrlCommand::Check { urls } = command;
    let mut setup = Setup::read(&options.run, surroundings)?;
    let context = ContextChoice::of(&options.run)?.find(&setup.open_store()?)?;
    setup.enter(&context, surroundings)?;
    let judge = url_judge(&setup)?;
    let runtime = runtime(options)?;
    let mut exit = Exit::Answered;
    for url in &urls {
        let row = runtime.block_on(judged(&judge, url));
        if row["verdict"] == "deny" {
            exit = Exit::Failed;
        }
        print(&match options.run.json {
            true => format!("{row}\n"),
            false => harmless(&line(&row)) + "\n",
        })?;
    }
    if !judge.has_policy() {
        surroundings.remark("there is no URL policy, so becket asks about every address");
    }
    Ok(exit)
}

/// The judgement of one URL, as JSON.
async fn judged(judge: &UrlJudge, url: &str) -> Value {
    match judge.judge(url).await {
        Ok(judged) => json!({
            "url": judged.url().as_str(),
            "verdict": match judged.ruling().verdict {
                UrlVerdict::Allow => "allow",
                UrlVerdict::Ask => "ask",
                UrlVerdict::Deny => "deny",
            },
            "rule": judged.ruling().rule,
            "class": judged.class().map(UrlClass::name),
            "addresses": judged.addresses().iter().map(|address| address.ip().to_string()).collect::<Vec<_>>(),
        }),
        Err(problem) => json!({
            "url": without_credentials(url),
            "verdict": "deny",
            "rule": null,
            // Of a name that is not found nobody knows where it leads.
            "class": read_url(url).is_err().then_some(UrlClass::Unparseable.name()),
            "addresses": [],
            "problem": problem,
        }),
    }
}

/// The judgement of one URL, as text.
fn line(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    if let Some(problem) = row["problem"].as_str() {
        return format!("deny   {}: {problem}", text("url"));
    }
    let addresses: Vec<&str> = row["addresses"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let class = row["class"].as_str().unwrap_or("open internet");
    let place = match addresses.as_slice() {
        [] => format!("{class}, not looked up"),
        addresses => format!("{class}, {}", addresses.join(", ")),
    };
    format!(
        "{:<6} {} ({place}), by {}",
        text("verdict"),
        text("url"),
        text("rule")
    )
}
