// Requests over HTTPS. Certificates are those of the system; the settings of an agent do not change them.

const { request, get, Agent, globalAgent } = require("internal/http").protocol("https:");

module.exports = { request, get, Agent, globalAgent };
