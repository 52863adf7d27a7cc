//! `becket models`: the models that can be named.

use becket_face_kit::listening;
use becket_host::ListedModel;
use becket_providers::{PRICES_OF, Price};
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::json;

use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;

/// Lists the models whose names hold the words.
pub fn run(options: &Options, search: Option<&str>, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let mut models = listening(options, surroundings, async |signals| {
        let lab = lab(options, surroundings, None, &signals.next()).await?;
        let (prices, settings) = (lab.setup.prices(), lab.setup.provider_settings());
        let environment = |name: &str| surroundings.variable(name);
        let with_price = |model: ListedModel| {
            let address = becket_providers::address(&model.provider, &environment, &settings);
            let address = address.as_ref().map(url::Url::as_str);
            let price = prices.at(&model.provider, &model.name, address);
            (model, price)
        };
        let models: Vec<_> = lab.assembled.models().into_iter().map(with_price).collect();
        lab.close(surroundings).await?;
        Ok(models)
    })?;
    let words: Vec<String> = search
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    models.retain(|(model, _)| {
        let name = format!("{} {}", model.provider, model.name).to_lowercase();
        words.iter().all(|word| name.contains(word))
    });
    if options.run.json {
        for (model, price) in &models {
            print(&format!("{}\n", as_json(model, price.as_ref())))?;
        }
        return Ok(Exit::Answered);
    }
    if models.is_empty() {
        surroundings.remark("no model has such a name");
        return Ok(Exit::Answered);
    }
    print(&table(&models))?;
    if models.iter().any(|(_, price)| price.is_some()) {
        surroundings.remark(&format!(
            "prices are US dollars per million tokens; becket's own table is of {PRICES_OF}, and `prices` in the \
             settings overrides it"
        ));
    }
    Ok(Exit::Answered)
}

fn as_json(model: &ListedModel, price: Option<&Price>) -> serde_json::Value {
    json!({
        "price": price.map(|price| json!({
            "input": price.input,
            "output": price.output,
            "cache_read": price.cache_read,
            "cache_write": price.cache_write,
        })),
        "provider": model.provider,
        "model": model.name,
        "context_window": model.context_window,
        "max_tokens": model.max_tokens,
        "thinks": model.thinks,
        "sees_pictures": model.sees_pictures,
    })
}

/// The models in columns. Prices have columns if there are any.
fn table(models: &[(ListedModel, Option<Price>)]) -> String {
    let head = [
        "provider", "model", "context", "max-out", "thinking", "images", "in", "out",
    ];
    let rows = models.iter().map(|(model, price)| {
        let money = |amount: fn(&Price) -> f64| {
            price
                .as_ref()
                .map_or_else(unknown, |price| format!("${}", amount(price)))
        };
        [
            harmless(&model.provider),
            harmless(&model.name),
            model.context_window.map_or_else(|| "unknown".into(), tokens),
            model.max_tokens.map_or_else(unknown, tokens),
            model.thinks.map_or_else(unknown, yes_or_no),
            model.sees_pictures.map_or_else(unknown, yes_or_no),
            money(|price| price.input),
            money(|price| price.output),
        ]
    });
    let rows: Vec<[String; 8]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let columns = if models.iter().any(|(_, price)| price.is_some()) {
        8
    } else {
        6
    };
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 8] = std::array::from_fn(width);
    let line = |row: &[String; 8]| {
        let cells = row
            .iter()
            .zip(widths)
            .take(columns)
            .map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn unknown() -> String {
    "?".to_owned()
}

fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

/// A number of tokens in short, such as `200K`.
fn tokens(count: u64) -> String {
    let shortened = |unit: u64, letter: char| match count % unit {
        0 => format!("{}{letter}", count / unit),
        _ => format!("{:.1}{letter}", count as f64 / unit as f64),
    };
    match count {
        1_000_000.. => shortened(1_000_000, 'M'),
        1_000.. => shortened(1_000, 'K'),
        _ => count.to_string(),
    }
}
