// Small modules that programs ask when they are loaded.
["127.0.0.1", "256.0.0.1", "1.2.3", "01.2.3.4", "::1", "::", "1::", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1::2::3", "::ffff:1.2.3.4", "::1.2.3.4.5", "1:2:3:4:5:6:7:8:9", "12345::", "", "localhost", ":1", "1:", "1:2:3:4:5:6:1.2.3.4", "1::2:3:4:5:6:7:8"].map((one) => require("net").isIP(one))
[require("net").isIPv4("1.2.3.4"), require("net").isIPv6("1.2.3.4"), require("net").isIPv6("::")]
["mañana", "bücher", "☃-⌘", "日本語", "abc", "ü", "", "-> $1.00 <-", "💩x"].map((one) => require("punycode").encode(one))
["maana-pta", "bcher-kva", "--dqo34k", "wgv71a119e", "tda", "ls8h", "a-"].map((one) => require("punycode").decode(one))
require("punycode").decode("é-x")
require("punycode").decode("x!")
[require("punycode").toASCII("mañana.com"), require("punycode").toASCII("džemla-džoŋ@bücher.de"), require("punycode").toASCII("a。b"), require("punycode").toUnicode("xn--maana-pta.com"), require("punycode").ucs2.decode("a💩"), require("punycode").ucs2.encode([97, 128169])]
[require("cluster").isPrimary, require("cluster").isWorker, require("worker_threads").isMainThread, require("worker_threads").threadId, require("worker_threads").parentPort, require("worker_threads").workerData]
[require("http").STATUS_CODES[404], require("http").METHODS.includes("PATCH"), require("http").METHODS[0], require("https").globalAgent.defaultPort, new (require("http").Agent)().protocol, require("http").maxHeaderSize]
require("http").validateHeaderName("bad name")
require("http").validateHeaderValue("x", undefined)
require("http").validateHeaderValue("x", "a\nb")
require("http").request({ protocol: "ftp:" })
require("http").request("https://example.org/")
require("http").request({ path: "/a b" })
require("http").request({ method: "G E T" })
(() => { const r = require("http").request({ host: "127.0.0.1", port: 1, path: "/p?q=1", method: "post", headers: { "X-One": "1", Two: ["a", "b"] }, auth: "me:secret" }); r.on("error", () => {}); const seen = [r.method, r.path, r.host, r.protocol, r.getHeader("x-one"), r.getHeader("TWO"), r.hasHeader("two"), r.getHeader("host"), r.getHeader("authorization"), r.getHeaderNames().sort()]; r.removeHeader("two"); seen.push(r.hasHeader("Two")); r.destroy(); return seen; })()
new Promise((done) => require("http").get({ host: "127.0.0.1", port: 1 }).on("error", () => {}).on("close", () => done("closed")).destroy())
new Promise((done) => { const r = require("http").request({ host: "127.0.0.1", port: 1 }); r.on("error", (e) => done([e.message, e.code])); r.destroy(); })
new Promise((done) => { const r = require("http").request({ host: "127.0.0.1", port: 1 }); r.on("error", (e) => done(e.message)); r.destroy(new Error("mine")); })
new Promise((done) => { const c = new AbortController(); const r = require("http").request({ host: "127.0.0.1", port: 1, signal: c.signal }); r.on("error", (e) => done([e.name, e.code])); c.abort(); })
[require("vm").runInThisContext("1 + 2"), new (require("vm").Script)("3 * 4").runInThisContext(), require("vm").compileFunction("return a + b", ["a", "b"])(1, 2), require("vm").isContext({})]
(() => { try { return require("vm").runInThisContext("1 +"); } catch (error) { return error.name; } })()
(async () => { const { text, json, buffer, arrayBuffer } = require("stream/consumers"); const { Readable } = require("stream"); const of = () => Readable.from([Buffer.from("[1,"), Buffer.from("2]")]); return [await text(of()), await json(of()), (await buffer(of())).length, (await arrayBuffer(of())).byteLength]; })()
[require("module").isBuiltin("fs"), require("module").isBuiltin("node:net"), require("module").isBuiltin("node:test"), require("module").isBuiltin("test"), require("module").isBuiltin("nothing")]
["http", "zlib", "worker_threads", "node:test", "test"].map((one) => require("module").builtinModules.includes(one.replace("node:", "")))
require("dns").NOTFOUND + require("dns").promises.NOTFOUND + require("dns/promises").TIMEOUT
[require("sys") === require("util"), require("inspector").url(), require("trace_events").getEnabledCategories()]
[typeof require("v8").getHeapStatistics().used_heap_size, require("tls").DEFAULT_MAX_VERSION, require("http2").constants.HTTP2_HEADER_PATH]
(async () => { const { port1, port2 } = new MessageChannel(); const got = []; port1.postMessage({ early: [1] }); const both = new Promise((done) => port2.on("message", (m) => { if (got.push(m) === 2) done(); })); port1.postMessage("late"); await both; port1.close(); return got; })()
(async () => { const { MessageChannel, receiveMessageOnPort } = require("worker_threads"); const { port1, port2 } = new MessageChannel(); const none = receiveMessageOnPort(port2); port1.postMessage(5); const one = receiveMessageOnPort(port2); port1.close(); return [none, one]; })()
(async () => { const { port1, port2 } = new MessageChannel(); const got = new Promise((done) => { port2.onmessage = (e) => done(e.data); }); port1.postMessage("x"); const value = await got; port1.close(); return value; })()
(() => { performance.mark("a"); const m = performance.measure("m", "a"); return [m.name, m.entryType, m.duration >= 0, performance.getEntriesByName("a").length, typeof performance.timeOrigin]; })()
