["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "SHA256"].map((a) => require("crypto").createHash(a).update("hello").update(Buffer.from("wörld")).digest("hex"))
["hex", "base64", "base64url", "latin1"].map((e) => require("crypto").createHash("sha256").update("x").digest(e))
["md5", "sha1", "sha256", "sha512"].map((a) => require("crypto").createHmac(a, "key").update("data").digest("hex"))
require("crypto").createHmac("sha256", Buffer.from("00ff", "hex")).update("data", "utf8").digest("base64")
require("crypto").createHash("sha256").update("616263", "hex").digest("hex")
(() => { const h = require("crypto").createHash("sha1").update("a"); const c = h.copy(); return [h.digest("hex"), c.update("b").digest("hex")]; })()
(() => { const h = require("crypto").createHash("sha1"); h.digest(); return h.digest(); })()
(() => { const h = require("crypto").createHash("sha1"); h.digest(); return h.update("x"); })()
require("crypto").createHash("nope")
require("crypto").createHmac("nope", "k")
[require("crypto").randomBytes(8).length, require("crypto").randomUUID().length, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/.test(crypto.randomUUID()), require("crypto").randomInt(1, 2), require("crypto").randomInt(5) < 5]
require("crypto").randomInt(5, 1)
[require("crypto").timingSafeEqual(Buffer.from("a"), Buffer.from("a")), require("crypto").timingSafeEqual(Buffer.from("a"), Buffer.from("b"))]
require("crypto").timingSafeEqual(Buffer.from("a"), Buffer.from("ab"))
(async () => Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc"))).toString("hex"))()
(async () => { const k = await crypto.subtle.importKey("raw", new TextEncoder().encode("key"), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]); const s = await crypto.subtle.sign("HMAC", k, new TextEncoder().encode("data")); return [Buffer.from(s).toString("hex"), await crypto.subtle.verify("HMAC", k, s, new TextEncoder().encode("data")), await crypto.subtle.verify("HMAC", k, s, new TextEncoder().encode("other"))]; })()
[crypto.getRandomValues(new Uint8Array(4)).length, require("crypto").webcrypto.subtle !== undefined]
new Promise((done) => { const h = require("crypto").createHash("sha256"); h.on("readable", () => { const d = h.read(); if (d) done(d.toString("hex")); }); h.write("abc"); h.end(); })
