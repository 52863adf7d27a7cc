// The same as `inspector`.

const { url, close, Network } = require("inspector");

module.exports = { url, close, console, Network };
