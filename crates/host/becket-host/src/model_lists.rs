//! The lists of models that providers have given, kept in the cache: whoever has looked once knows the windows of
//! models whose names say nothing.

use std::path::{Path, PathBuf};

use becket_agent::Pricing;
use becket_agent::provider::{ModelFacts, OfferedModel, Provider};
use becket_providers::{Price, Prices, priced_models};
use becket_system::moments::now;
use serde::{Deserialize, Serialize};

/// The lists of models that providers have given.
#[derive(Debug, Clone)]
pub struct ModelLists {
    folder: PathBuf,
}

/// The list of one provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelList {
    /// When the provider gave it, in milliseconds since 1970.
    pub time_ms: u64,
    /// The provider's name.
    pub provider: String,
    /// The address at which the provider was asked. At another one there may be other models.
    pub address: String,
    pub models: Vec<OfferedModel>,
}

impl ModelList {
    /// The list that a provider gives now.
    pub fn now(provider: &dyn Provider, models: Vec<OfferedModel>) -> Self {
        Self {
            time_ms: now().timestamp_millis().unsigned_abs(),
            provider: provider.name().to_owned(),
            address: provider.base_url().unwrap_or_default().to_owned(),
            models,
        }
    }
}

/// The models whose prices becket knows at an address.
pub fn priced(address: &str) -> Vec<OfferedModel> {
    let named = |model: &str| OfferedModel {
        name: model.to_owned(),
        ..OfferedModel::default()
    };
    priced_models(address).map(named).collect()
}

impl ModelLists {
    /// The lists in a cache folder.
    pub fn new(cache: &Path) -> Self {
        Self {
            folder: cache.join("models"),
        }
    }

    /// The list of a provider, if it was asked at the address that it has now. A file that cannot be read is no list.
    pub fn of(&self, provider: &dyn Provider) -> Option<ModelList> {
        let text = becket_fs::read_to_string(self.file(provider.name())).ok()?;
        let list: ModelList = serde_json::from_str(&text).ok()?;
        let is_meant = list.provider == provider.name() && Some(&*list.address) == provider.base_url();
        is_meant.then_some(list)
    }

    /// The lists of all providers, from whatever address.
    pub fn all(&self) -> Vec<ModelList> {
        let files = becket_fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| becket_fs::read_to_string(file.path()).ok());
        texts
            .filter_map(|text| serde_json::from_str(&text).ok())
            .collect()
    }

    /// The models of a provider: those that it has listed, else those whose prices becket knows at its address.
    pub fn known(&self, provider: &dyn Provider) -> Vec<OfferedModel> {
        let listed = self.of(provider).map(|list| list.models);
        listed.unwrap_or_else(|| priced(provider.base_url().unwrap_or_default()))
    }

    /// What a model's provider has said about it.
    pub fn facts_of(&self, provider: &dyn Provider) -> Option<ModelFacts> {
        Some(self.model(provider)?.facts)
    }

    fn model(&self, provider: &dyn Provider) -> Option<OfferedModel> {
        let mut models = self.of(provider)?.models.into_iter();
        models.find(|model| model.name == provider.model())
    }

    /// What answers cost by these prices, else by what the provider's list says.
    pub fn pricing(&self, prices: Prices) -> Pricing {
        let lists = self.clone();
        Pricing::new(move |provider, usage| {
            let listed = || Price::listed(&lists.model(provider)?);
            let price = prices.of(provider).or_else(listed)?;
            Some(price.of(usage))
        })
    }

    /// Keeps a list. The error says why it cannot be kept.
    pub fn keep(&self, list: &ModelList) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let file = self.file(&list.provider);
        let draft = file.with_extension(format!("{}.draft", std::process::id()));
        std::fs::write(&draft, serde_json::to_vec(list)?)?;
        std::fs::rename(&draft, &file)
    }

    /// The file of a provider's list; its name may hold anything.
    fn file(&self, provider: &str) -> PathBuf {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let name: String = provider
            .bytes()
            .map(|byte| match is_plain(&byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            })
            .collect();
        self.folder.join(format!("{name}.json"))
    }
}
