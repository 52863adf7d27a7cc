// assert
require("assert")(true)
require("assert").strictEqual(1, 2)
require("assert").deepStrictEqual({ a: 1, b: [1, 2] }, { a: 1, b: [1, 2] })
(() => { try { require("assert").deepStrictEqual({ a: 1 }, { a: 2 }); } catch (e) { return [e.name, e.code, e.operator, e.generatedMessage, e.message.split("\n")[0]]; } })()
require("assert").equal(1, "1")
require("assert").equal(1, 2)
require("assert").notStrictEqual(1, 1)
require("assert").throws(() => { throw new TypeError("bad"); }, TypeError)
require("assert").throws(() => {}, Error)
require("assert").throws(() => { throw new Error("some words"); }, /words/)
require("assert").throws(() => { throw new Error("x"); }, { message: "x" })
require("assert").rejects(Promise.resolve(1))
require("assert").match("abc", /x/)
require("assert").ok(0, "zero")
require("assert").fail()
require("assert").ifError(new Error("e"))
require("assert/strict").equal(1, "1")
require("assert").deepEqual([1, "2"], [1, 2])
// structuredClone
structuredClone({ a: [1, { b: new Date(0) }], m: new Map([[1, new Set([2])]]), u: undefined }).m.get(1).has(2)
structuredClone(() => {})
(() => { const a = { x: 1 }; a.self = a; const b = structuredClone(a); return [b.self === b, b !== a]; })()
(() => { const e = structuredClone(new TypeError("t")); return [e instanceof TypeError, e.message]; })()
// fetch's objects, without a network
(() => { const h = new Headers({ A: "1", b: "2" }); h.append("a", "3"); h.delete("b"); return [[...h], h.get("A"), h.has("b")]; })()
new Headers({ "a b": "c" })
(async () => { const r = new Response("{\"a\":1}", { status: 201, headers: { x: "y" } }); const c = r.clone(); return [r.status, r.ok, r.headers.get("x"), await r.json(), await c.text(), r.bodyUsed]; })()
(async () => { const r = new Response("abc"); await r.text(); try { await r.text(); } catch (e) { return e.name; } })()
(async () => { const r = Response.json({ a: 1 }); return [r.headers.get("content-type"), await r.text()]; })()
(() => { const r = new Request("http://a/b", { method: "post", body: "x", headers: { k: "v" } }); return [r.method, r.url, r.headers.get("content-type"), r.headers.get("k")]; })()
new Request("http://a", { body: "x" })
(() => { const f = new FormData(); f.append("a", "1"); f.append("a", 2); f.set("b", "x"); return [[...f], f.getAll("a"), f.has("c")]; })()
(async () => { const got = []; for await (const c of new Response("stream").body) got.push(Buffer.from(c).toString()); return got.join(""); })()
// process, os, others
[typeof process.pid, process.platform, typeof process.cwd(), process.argv.length >= 1, typeof process.env.PATH, process.version.slice(0, 4), typeof process.hrtime.bigint(), process.hrtime().length, process.uptime() >= 0, typeof process.versions.node]
(() => { process.env.BECKET_X = 5; const v = process.env.BECKET_X; delete process.env.BECKET_X; return [v, process.env.BECKET_X ?? null, "BECKET_X" in process.env]; })()
new Promise((done) => process.nextTick((a, b) => done([a, b]), 1, 2))
[require("os").platform(), require("os").EOL, typeof require("os").hostname(), require("os").cpus().length > 0, require("os").tmpdir().length > 0, require("os").constants.signals.SIGTERM, require("os").type(), require("os").arch(), require("os").endianness()]
[require("tty").isatty(1), typeof require("perf_hooks").performance.now(), require("module").isBuiltin("node:fs"), require("fs") === require("node:fs"), require("fs").promises === require("fs/promises")]
require("process") === process
[typeof setTimeout, typeof queueMicrotask, typeof globalThis.global, typeof WeakRef]
// numbers, dates and texts in English
[(1234567.891).toLocaleString(), (0).toLocaleString(), (-1234).toLocaleString("en-US"), (1e21).toLocaleString(), (12345n).toLocaleString(), (0.5).toLocaleString("en-US", { style: "percent" }), (1234.5).toLocaleString("en-US", { style: "currency", currency: "USD" }), (5).toLocaleString("en-US", { minimumFractionDigits: 2 }), (1234567).toLocaleString("en-US", { notation: "compact" })]
[new Date(0).toLocaleString("en-US", { timeZone: "UTC" }).replace(/\u202f/g, " "), new Date(0).toLocaleDateString("en-US", { timeZone: "UTC" }), new Date(0).toLocaleTimeString("en-US", { timeZone: "UTC" }).replace(/\u202f/g, " "), new Date(0).toLocaleDateString("en-US", { weekday: "short", year: "numeric", month: "short", day: "numeric", timeZone: "UTC" }), new Date(0).toLocaleTimeString("en-US", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" })]
[new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" }).format(0), new Intl.NumberFormat("en-US").format(1e6), new Intl.NumberFormat().format(1.23456), new Intl.PluralRules("en").select(1), new Intl.ListFormat("en").format(["a", "b", "c"]), new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-1, "day")]
["b", "a", "C", "A", "é", "e", "z", "10", "2", "_"].sort((a, b) => a.localeCompare(b))
["x10", "x9", "x1"].sort(new Intl.Collator(undefined, { numeric: true }).compare)
[..."👨‍👩‍👧e\u0301🇩🇪a👍🏽\r\n각".matchAll(/./gu)].length
[...new Intl.Segmenter("en", { granularity: "grapheme" }).segment("👨‍👩‍👧e\u0301🇩🇪a👍🏽\r\n각✓️")].map((s) => s.segment)
[...new Intl.Segmenter("en", { granularity: "word" }).segment("Hello, world! It's 3.5 ok")].map((s) => [s.segment, s.isWordLike])
(() => { const t = setTimeout(() => {}, 1); const before = t.hasRef(); t.unref(); return [before, t.hasRef(), t.ref().hasRef()]; })()
new Headers({ a: "x\ny" })
new Headers().set("a", "x\0y")
(() => { const h = new Headers({ a: " x\n" }); h.set("b", "\ty z "); return [...h]; })()
