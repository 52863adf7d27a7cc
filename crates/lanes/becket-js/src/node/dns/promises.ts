// The same as `dns`, for those who wait.

const { getDefaultResultOrder, setDefaultResultOrder, ...others } = require("dns");
const codes = Object.entries(others).filter(([, value]) => typeof value === "string");

module.exports = { ...Object.fromEntries(codes), getDefaultResultOrder, setDefaultResultOrder };
