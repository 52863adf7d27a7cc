//! Node's modules: which exist, and which of their exports are refused. The documents and the errors are made from this
//! table.
//!
//! A module can be imported although the embedded engine has little of it, because most importers use it rarely or only
//! for its types. A refused export exists under Node's name and throws when it is used.
//!
//! `http.request` is made of the host's `fetch`, and there are no sockets, so that what an extension sends is seen and
//! can be refused in one place. `vm` makes no worlds of its own: one that does not close would be worse than none.

/// One of Node's modules in the embedded engine.
#[derive(Debug, Clone, Copy)]
pub struct NodeModule {
    /// The module's name, without `node:`.
    pub name: &'static str,
    /// The module's exports that throw when they are used.
    pub refused: &'static str,
    /// The module's TypeScript, which provides all other exports; empty if there are none.
    source: &'static str,
}

/// Modules that are younger than packages of the same name: without `node:` the package is meant.
const PREFIXED: [&str; 4] = ["sea", "sqlite", "test", "test/reporters"];

/// How much of a module is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Everything that programs use.
    Served,
    /// Some of the module's functions throw when they are called.
    Partly,
    /// The module can be imported, but nothing in it works.
    Refused,
}

impl NodeModule {
    /// Whether the module can only be imported with `node:` before its name.
    pub fn needs_prefix(&self) -> bool {
        PREFIXED.contains(&self.name)
    }

    /// How much of the module is available.
    pub fn service(&self) -> Service {
        match (self.source, self.refused) {
            ("", _) => Service::Refused,
            (_, "") => Service::Served,
            _ => Service::Partly,
        }
    }
}

/// All of Node's modules that can be imported.
pub fn node_modules() -> impl Iterator<Item = &'static NodeModule> {
    MODULES
        .iter()
        .filter(|module| !module.name.starts_with("internal/"))
}

/// A module by its name, also one that only the others may import.
fn by_name(name: &str) -> Option<&'static NodeModule> {
    MODULES.iter().find(|module| module.name == name)
}

/// The plain name of the module that is imported as `name`, if it is one of Node's.
pub(crate) fn imported(name: &str) -> Option<&'static str> {
    let plain = name.strip_prefix("node:");
    let found = node_modules().find(|module| module.name == plain.unwrap_or(name))?;
    (plain.is_some() || !found.needs_prefix()).then_some(found.name)
}

/// The TypeScript of a module, and the names that it refuses.
pub(crate) fn source(name: &str) -> Option<(&'static str, &'static str)> {
    by_name(name).map(|module| (module.source, module.refused))
}

/// Whether the embedded engine refuses an export of one of Node's modules.
pub(crate) fn is_refused(module: &str, name: &str) -> bool {
    let refused = by_name(module).map(|module| module.refused).unwrap_or_default();
    refused.split_ascii_whitespace().any(|refused| refused == name)
}

/// `NAME` is made by a file, without the names behind `but`; `refused NAME` has no file.
macro_rules! modules {
    ($($(@$refused:ident)? $name:literal $(but $names:literal)?,)*) => {
        &[$(NodeModule {
            name: $name,
            refused: concat!($($names)?),
            source: modules!(@source $name $($refused)?),
        }),*]
    };
    (@source $name:literal) => { include_str!(concat!($name, ".ts")) };
    (@source $name:literal refused) => { "" };
}

// tidy: a table
const MODULES: &[NodeModule] = modules![
    "assert" but "CallTracker",
    "assert/strict" but "CallTracker",
    "async_hooks" but "createHook",
    "buffer" but "resolveObjectURL",
    "child_process" but "fork",
    "cluster" but "Worker disconnect fork setupMaster setupPrimary",
    "console",
    "constants",
    "crypto" but "Certificate Cipher Cipheriv Decipher Decipheriv DiffieHellman DiffieHellmanGroup ECDH Sign Verify \
        X509Certificate checkPrime checkPrimeSync createCipheriv createDecipheriv createDiffieHellman \
        createDiffieHellmanGroup createECDH createPrivateKey createPublicKey createSign createVerify diffieHellman \
        generateKey generateKeyPair generateKeyPairSync generateKeySync generatePrime generatePrimeSync getCipherInfo \
        getDiffieHellman hkdf hkdfSync pbkdf2 pbkdf2Sync privateDecrypt privateEncrypt publicDecrypt publicEncrypt \
        scrypt scryptSync secureHeapUsed setEngine setFips sign verify",
    @refused "dgram" but "Socket createSocket",
    "diagnostics_channel",
    "dns" but "Resolver getServers lookup lookupService resolve resolve4 resolve6 resolveAny resolveCaa resolveCname \
        resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv resolveTxt reverse setServers",
    "dns/promises" but "Resolver getServers lookup lookupService resolve resolve4 resolve6 resolveAny resolveCaa \
        resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv resolveTxt reverse setServers",
    @refused "domain" but "Domain active create createDomain",
    "events" but "EventEmitterAsyncResource",
    "fs" but "fchown fchownSync openAsBlob readv readvSync statfs statfsSync writev writevSync",
    "fs/promises" but "statfs",
    "http" but "Server ServerResponse createServer",
    "http2" but "Http2ServerRequest Http2ServerResponse connect createSecureServer createServer getDefaultSettings \
        getPackedSettings getUnpackedSettings performServerHandshake",
    "https" but "Server createServer",
    "inspector" but "Session open waitForDebugger",
    "inspector/promises" but "Session open waitForDebugger",
    "internal/abort",
    "internal/arguments",
    "internal/clone",
    "internal/errors",
    "internal/fetch",
    "internal/http",
    "internal/inspect",
    "internal/intl",
    "internal/webstreams",
    "module" but "SourceMap runMain",
    "net" but "BlockList Server Socket SocketAddress Stream connect createConnection createServer",
    "os",
    "path",
    "path/posix",
    "path/win32",
    "perf_hooks" but "Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserverEntryList \
        PerformanceResourceTiming createHistogram monitorEventLoopDelay",
    "process" but "dlopen initgroups loadEnvFile openStdin setegid seteuid setgid setgroups setuid",
    "punycode",
    "querystring",
    "readline",
    "readline/promises" but "Readline",
    @refused "repl" but "REPLServer REPL_MODE_SLOPPY REPL_MODE_STRICT Recoverable builtinModules isValidSyntax \
        start writer",
    "sea" but "getAsset getAssetAsBlob getRawAsset",
    @refused "sqlite" but "DatabaseSync Session StatementSync backup constants",
    "stream" but "compose duplexPair",
    "stream/consumers",
    "stream/promises",
    "stream/web" but "CompressionStream DecompressionStream ReadableByteStreamController ReadableStreamBYOBReader \
        ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader \
        TransformStreamDefaultController WritableStreamDefaultController WritableStreamDefaultWriter",
    "string_decoder",
    "sys",
    @refused "test" but "after afterEach before beforeEach describe it mock only run skip snapshot suite test todo",
    @refused "test/reporters" but "dot junit lcov spec tap",
    "timers" but "active enroll unenroll",
    "timers/promises",
    "tls" but "SecureContext Server TLSSocket checkServerIdentity connect convertALPNProtocols createSecureContext \
        createSecurePair createServer getCiphers",
    "trace_events" but "createTracing",
    "tty",
    "url" but "resolveObject",
    "util" but "MIMEParams MIMEType parseEnv transferableAbortController transferableAbortSignal",
    "util/types",
    "v8" but "DefaultDeserializer DefaultSerializer Deserializer GCProfiler Serializer deserialize getHeapSnapshot \
        queryObjects serialize setHeapSnapshotNearHeapLimit startupSnapshot writeHeapSnapshot",
    "vm" but "SourceTextModule SyntheticModule createContext measureMemory runInContext runInNewContext",
    @refused "wasi" but "WASI",
    "worker_threads" but "BroadcastChannel Worker moveMessagePortToContext postMessageToThread",
    "zlib" but "BrotliCompress BrotliDecompress ZstdCompress ZstdDecompress brotliCompress brotliCompressSync \
        brotliDecompress brotliDecompressSync createBrotliCompress createBrotliDecompress createZstdCompress \
        createZstdDecompress zstdCompress zstdCompressSync zstdDecompress zstdDecompressSync",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_stands_once_and_what_is_refused_has_names() {
        for (at, module) in MODULES.iter().enumerate() {
            let name = module.name;
            assert!(
                !MODULES[..at].iter().any(|other| other.name == name),
                "{name} stands twice"
            );
            assert!(
                !(module.source.is_empty() && module.refused.is_empty()),
                "{name} is empty"
            );
            let mut names: Vec<&str> = module.refused.split_ascii_whitespace().collect();
            assert_eq!(module.refused, names.join(" "), "{name}: one space between names");
            names.sort_unstable();
            assert_eq!(
                module.refused,
                names.join(" "),
                "{name}: in order, as they are documented"
            );
        }
    }

    #[test]
    fn the_service_follows_from_what_is_refused() {
        let service = |name| by_name(name).expect("a module").service();
        assert_eq!(service("path"), Service::Served);
        assert_eq!(service("http"), Service::Partly);
        assert_eq!(service("sqlite"), Service::Refused);
    }
}
