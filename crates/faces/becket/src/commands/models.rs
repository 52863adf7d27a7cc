//! `becket models`: the models that can be named, and what is known about them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use becket_agent::provider::{ModelFacts, Provider};
use becket_face_kit::listening;
use becket_host::{ListedModel, ModelList};
use becket_providers::{PRICES_OF, Price, Prices, of_family, provider_names, select};
use becket_run::setup::Setup;
use becket_system::moments::moment_in_words;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde_json::json;

use crate::args::ModelsArgs;
use crate::lab::lab;
use crate::options::Options;
use crate::printing::print;

/// How long a provider may take to list its models.
const LONGEST: Duration = Duration::from_secs(20);

/// A model with its price, if that is known.
type PricedModel = (ListedModel, Option<Price>);

/// Lists the models whose names hold the words.
pub fn run(options: &Options, args: &ModelsArgs, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let mut models = listening(options, surroundings, async |signals| {
        let lab = lab(options, surroundings, None, &signals.next()).await?;
        let lists = lists(&lab.setup, args, surroundings).await;
        let own = lab.assembled.models();
        lab.close(surroundings).await?;
        let of_guests = |name: &String| own.iter().any(|model| model.provider == *name);
        let lists = match lists {
            Err(error) if error.exit == Exit::Usage && args.provider.as_ref().is_some_and(of_guests) => {
                Vec::new()
            }
            lists => lists?,
        };
        Ok(rows(own, lists, &lab.setup, surroundings))
    })?;
    let search = args.search.as_deref().unwrap_or_default();
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    models.retain(|(model, _)| {
        let name = format!("{} {}", model.provider, model.name).to_lowercase();
        let is_of = args
            .provider
            .as_ref()
            .is_none_or(|provider| *provider == model.provider);
        is_of && words.iter().all(|word| name.contains(word))
    });
    if options.run.json {
        for (model, price) in &models {
            print(&format!("{}\n", as_json(model, price.as_ref())))?;
        }
        return Ok(Exit::Answered);
    }
    if models.is_empty() {
        surroundings.remark(&match search {
            "" => "no models are known; `becket models --refresh` asks the providers".to_owned(),
            search => format!("no known model matches `{search}`"),
        });
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

/// The lists of the provider that is named, or of all that can be asked. They are asked if that is wanted, and the
/// named one if it has given no list yet.
async fn lists(
    setup: &Setup,
    args: &ModelsArgs,
    surroundings: &Surroundings,
) -> Result<Vec<ModelList>, CliError> {
    let environment = |name: &str| surroundings.variable(name);
    let settings = setup.provider_settings();
    let kept = setup.model_lists();
    // Which of its models is named does not matter for a list.
    let provider_of = |name: &str| select(Some(&format!("{name}/models")), &environment, &settings);
    if let Some(name) = &args.provider {
        let known = provider_names(&settings);
        if !known.contains(name) {
            let known: Vec<String> = known.into_iter().collect();
            let hint = format!("known are {}", known.join(", "));
            return Err(CliError::usage(format!("there is no provider `{name}`")).hint(hint));
        }
        let provider = provider_of(name).map_err(|error| CliError::usage(error.to_string()))?;
        let list = match kept.of(&*provider).filter(|_| !args.refresh) {
            Some(list) => {
                let when = moment_in_words(list.time_ms);
                surroundings.remark(&format!(
                    "{name} gave this list on {when}; `--refresh` asks again"
                ));
                list
            }
            None => ask(setup, &provider, surroundings).await?,
        };
        return Ok(vec![list]);
    }
    let mut lists = Vec::new();
    for provider in provider_names(&settings)
        .into_iter()
        .filter_map(|name| provider_of(&name).ok())
    {
        let asked = match args.refresh {
            true => ask(setup, &provider, surroundings).await.map(Some),
            false => Ok(None),
        };
        let asked = asked.unwrap_or_else(|error| {
            surroundings.remark(&error.message);
            None
        });
        lists.push(asked.unwrap_or_else(|| ModelList::now(&*provider, kept.known(&*provider))));
    }
    Ok(lists)
}

/// Asks a provider for its models, and keeps the list.
async fn ask(
    setup: &Setup,
    provider: &Arc<dyn Provider>,
    surroundings: &Surroundings,
) -> Result<ModelList, CliError> {
    let failed = |message: String| CliError {
        exit: Exit::Provider,
        message: format!("{} does not list its models: {message}", provider.name()),
        hint: None,
    };
    let listed = tokio::time::timeout(LONGEST, provider.list_models()).await;
    let listed = listed.map_err(|_| {
        let place = provider.base_url().unwrap_or_default();
        let seconds = LONGEST.as_secs();
        failed(format!(
            "it took more than {seconds} s; check the network and the base URL: {place}"
        ))
    })?;
    let models = listed.map_err(|error| failed(error.message))?;
    let list = ModelList::now(&**provider, models);
    if let Err(error) = setup.model_lists().keep(&list) {
        surroundings.remark(&format!("the list cannot be kept: {error}"));
    }
    Ok(list)
}

/// All models, once each: what the settings say about one goes before its provider's list, and that before the table.
fn rows(
    own: Vec<ListedModel>,
    lists: Vec<ModelList>,
    setup: &Setup,
    surroundings: &Surroundings,
) -> Vec<PricedModel> {
    let (prices, settings) = (setup.prices(), setup.provider_settings());
    let environment = |name: &str| surroundings.variable(name);
    let windows = &setup.config.compaction.context_windows;
    let price_of = |provider: &str, name: &str, prices: &Prices| {
        let address = becket_providers::address(provider, &environment, &settings);
        prices.at(provider, name, address.as_ref().map(url::Url::as_str))
    };
    let mut known: BTreeMap<(String, String), (ModelFacts, Option<Price>)> = own
        .into_iter()
        .map(|model| ((model.provider, model.name), (model.facts, None)))
        .collect();
    for ModelList { provider, models, .. } in lists {
        for model in models {
            let price = Price::listed(&model);
            let facts = model.facts.or(of_family(&model.name));
            let (known, of_list) = known.entry((provider.clone(), model.name)).or_default();
            (*known, *of_list) = (known.or(facts), price);
        }
    }
    let rows = known.into_iter().map(|((provider, name), (mut facts, of_list))| {
        let window = windows.get(&format!("{provider}/{name}"));
        facts.context_window = window.map(|window| window.get()).or(facts.context_window);
        let price = price_of(&provider, &name, &prices).or(of_list);
        (
            ListedModel {
                provider,
                name,
                facts,
            },
            price,
        )
    });
    rows.collect()
}

fn as_json(model: &ListedModel, price: Option<&Price>) -> serde_json::Value {
    let facts = &model.facts;
    json!({
        "price": price.map(|price| json!({
            "input": price.input,
            "output": price.output,
            "cache_read": price.cache_read,
            "cache_write": price.cache_write,
        })),
        "provider": model.provider,
        "model": model.name,
        "context_window": facts.context_window,
        "max_tokens": facts.max_tokens,
        "thinks": facts.thinks,
        "sees_pictures": facts.sees_pictures,
    })
}

/// The models in columns. Prices have columns if there are any.
fn table(models: &[PricedModel]) -> String {
    let head = [
        "provider", "model", "context", "max-out", "thinking", "images", "in", "out",
    ];
    let rows = models.iter().map(|(model, price)| {
        let money = |amount: fn(&Price) -> f64| {
            price
                .as_ref()
                .map_or_else(unknown, |price| format!("${}", amount(price)))
        };
        let facts = &model.facts;
        [
            harmless(&model.provider),
            harmless(&model.name),
            facts.context_window.map_or_else(|| "unknown".into(), tokens),
            facts.max_tokens.map_or_else(unknown, tokens),
            facts.thinks.map_or_else(unknown, yes_or_no),
            facts.sees_pictures.map_or_else(unknown, yes_or_no),
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
