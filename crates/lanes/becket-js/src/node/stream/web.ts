// Streams of the web.

module.exports = require("internal/webstreams");
