// Requests over HTTP. Servers are refused: an extension cannot listen.

module.exports = require("internal/http").protocol("http:");
