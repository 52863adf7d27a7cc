["https://u:p@Example.com:8080/a/../b?x=1&y=%20#h", "http://example.com:80", "file:///a/b%20c", "mailto:a@b.c", "https://ünïcode.de/ä?ö#ü"].map((u) => { const x = new URL(u); return [x.href, x.origin, x.protocol, x.username, x.password, x.host, x.hostname, x.port, x.pathname, x.search, x.hash]; })
[["../x", "http://a/b/c/d"], ["?q", "http://a/b"], ["//h/p", "https://a"], ["#f", "http://a/b?c"]].map(([a, b]) => new URL(a, b).href)
new URL("nope")
new URL("/x", "also nope")
[URL.canParse("http://a"), URL.canParse("x"), URL.canParse("x", "http://a")]
(() => { const u = new URL("http://a/b?x=1"); u.searchParams.append("y", "a b&c"); u.hash = "z"; u.pathname = "/p q"; u.port = "81"; u.protocol = "https"; u.hostname = "c.d"; u.username = "me"; return [u.href, String(u.searchParams), JSON.stringify({ u })]; })()
(() => { const u = new URL("http://a/?a=1&b=2"); u.search = "?c=3"; const p = u.searchParams; u.search = "d=4"; return [p.get("d"), p.has("c"), u.href]; })()
(() => { const p = new URLSearchParams("a=1&b=2&a=3&c&d=%C3%A9+x&%zz=1"); return [[...p], p.getAll("a"), p.get("c"), p.get("no"), p.has("b"), p.size, String(p)]; })()
[String(new URLSearchParams({ a: 1, "b c": "d~!'()*" })), String(new URLSearchParams([["x", "y"], ["z", "✓"]])), String(new URLSearchParams("?q=1"))]
(() => { const p = new URLSearchParams("z=1&a=2&z=0"); p.sort(); p.set("z", "9"); p.delete("a"); return [...p.keys(), ...p.values()]; })()
["file:///a/b%20c%3F", new URL("file:///x")].map((u) => require("url").fileURLToPath(u))
require("url").fileURLToPath("http://a/b")
["/a b/c?d#e%", "/ü/", "/x\\y"].map((p) => require("url").pathToFileURL(p).href)
["http://user:pass@host.com:8080/p/a/t/h?query=string#hash", "/a?b=c", "mailto:x@y.z", "//h/p", "http://a.com"].map((u) => ({ ...require("url").parse(u) }))
require("url").parse("http://a/?x=1&x=2", true).query
[require("url").format({ protocol: "http", host: "a.b", pathname: "c", query: { d: 1 } }), require("url").format(new URL("http://a/b?c#d"), { search: false }), require("url").resolve("http://a/b/c", "../d"), require("url").resolve("/one/two", "three")]
["a=1&b=2&a=3", "x", "a=%20b+c", "=1", "&&a=b"].map((q) => ({ ...require("querystring").parse(q) }))
[{ a: 1, b: [1, "x y"], c: true, d: null }, {}].map((q) => require("querystring").stringify(q))
require("querystring").stringify({ a: "b c" }, ";", ":")
