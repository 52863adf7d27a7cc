// What was compressed elsewhere; compressed bytes themselves differ between programs that make them.
require("zlib").gunzipSync(Buffer.from("H4sIAAAAAAAAA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA==", "base64")).toString()
require("zlib").inflateSync(Buffer.from("eJzLSM3JyVcozy/KSQEAGgsEXQ==", "base64")).toString()
require("zlib").inflateRawSync(Buffer.from("y0jNyclXKM8vykkBAA==", "base64")).toString()
require("zlib").unzipSync(Buffer.from("eJzLSM3JyVcozy/KSQEAGgsEXQ==", "base64")).toString()
require("zlib").unzipSync(Buffer.from("H4sIAAAAAAAAA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA==", "base64")).toString()
// There and back, in all wrappings and levels.
["gzip gunzip", "deflate inflate", "deflateRaw inflateRaw", "gzip unzip", "deflate unzip"].map((pair) => { const [there, back] = pair.split(" "); const z = require("zlib"); const text = "all work and no play ".repeat(5000); const made = z[`${there}Sync`](text); return [made.length < 1000, z[`${back}Sync`](made).toString() === text]; })
[0, 1, 6, 9, -1].map((level) => { const z = require("zlib"); return z.inflateSync(z.deflateSync("x".repeat(1000), { level })).length; })
require("zlib").gunzipSync(require("zlib").gzipSync("")).length
require("zlib").inflateSync(require("zlib").deflateSync(new Uint8Array(300000))).length
(() => { const z = require("zlib"); const noise = require("crypto").randomBytes(200000); return z.gunzipSync(z.gzipSync(noise)).equals(noise); })()
require("zlib").gunzipSync(Buffer.concat([require("zlib").gzipSync("a"), require("zlib").gzipSync("b")])).toString()
require("zlib").gunzipSync(Buffer.concat([require("zlib").gzipSync("a"), Buffer.from([0, 0, 0])])).toString()
// A head with a name and a remark; one with a checksum that is wrong.
require("zlib").gunzipSync(Buffer.concat([Buffer.from([31, 139, 8, 24, 0, 0, 0, 0, 0, 3]), Buffer.from("name\0words\0"), require("zlib").gzipSync("with a name").subarray(10)])).toString()
require("zlib").gunzipSync(Buffer.concat([Buffer.from([31, 139, 8, 26, 0, 0, 0, 0, 0, 3]), Buffer.from("name\0words\0"), Buffer.from([1, 2]), require("zlib").gzipSync("with a name").subarray(10)])).toString()
// What is wrong.
require("zlib").gunzipSync(Buffer.from("no gzip at all"))
require("zlib").inflateSync(Buffer.from("no zlib at all"))
require("zlib").gunzipSync(Buffer.alloc(0))
require("zlib").inflateSync(Buffer.alloc(0))
require("zlib").gunzipSync(require("zlib").gzipSync("cut off here").subarray(0, 15))
(() => { const made = require("zlib").gzipSync("a checksum"); made[made.length - 5] ^= 1; return require("zlib").gunzipSync(made).toString(); })()
(() => { const made = require("zlib").gzipSync("a length"); made[made.length - 1] ^= 1; return require("zlib").gunzipSync(made).toString(); })()
require("zlib").gunzipSync(require("zlib").gzipSync("cut off here".repeat(9)).subarray(0, -9), { finishFlush: require("zlib").constants.Z_SYNC_FLUSH }).length > 0
require("zlib").inflateSync(require("zlib").deflateSync("x".repeat(9999)), { maxOutputLength: 100 })
require("zlib").gzipSync(5)
require("zlib").gzipSync("x", { level: 10 })
require("zlib").gzip("x")
// Later.
new Promise((done) => require("zlib").gzip("later", (error, made) => require("zlib").gunzip(made, (problem, text) => done([error, problem, text.toString()]))))
new Promise((done) => require("zlib").gunzip("nonsense", (error, made) => done([error.code, error.errno, made === undefined])))
require("util").promisify(require("zlib").deflate)("promised").then((made) => require("zlib").inflateSync(made).toString())
// Streams.
(async () => { const z = require("zlib"); const { Readable } = require("stream"); const pieces = []; for await (const piece of Readable.from([Buffer.from("one "), Buffer.from("two")]).pipe(z.createGzip()).pipe(z.createGunzip())) pieces.push(piece); return Buffer.concat(pieces).toString(); })()
(async () => { const z = require("zlib"); const made = z.gzipSync("byte by byte, as it comes".repeat(20)); const gunzip = z.createGunzip(); let text = ""; gunzip.on("data", (data) => text += data); const end = new Promise((done) => gunzip.on("end", done)); for (const byte of made) gunzip.write(Buffer.from([byte])); gunzip.end(); await end; return text.length; })()
(async () => { const z = require("zlib"); const gunzip = z.createGunzip(); const error = new Promise((done) => gunzip.on("error", done)); gunzip.end("nonsense"); return (await error).code; })()
(async () => { const z = require("zlib"); const gunzip = z.createGunzip(); const error = new Promise((done) => gunzip.on("error", done)); gunzip.end(z.gzipSync("cut off").subarray(0, 12)); const found = await error; return [found.code, found.message]; })()
(async () => { const z = require("zlib"); const { pipeline } = require("stream/promises"); const { Readable, Writable } = require("stream"); let text = ""; await pipeline(Readable.from(["a", "b"]), z.createDeflate(), z.createInflate(), new Writable({ write(chunk, _, done) { text += chunk; done(); } })); return text; })()
(() => { const z = require("zlib"); return [z.createGzip() instanceof z.Gzip, new z.Inflate() instanceof z.Inflate, z.createGzip() instanceof require("stream").Transform, z.Gzip.name, z.Deflate.name]; })()
[require("zlib").constants.Z_BEST_COMPRESSION, require("zlib").codes.Z_DATA_ERROR, require("zlib").codes["-5"]]
[require("zlib").crc32("hello"), require("zlib").crc32(Buffer.from("world"), require("zlib").crc32("hello ")), require("zlib").crc32("")]
