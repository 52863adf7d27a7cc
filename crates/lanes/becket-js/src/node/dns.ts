// Codes of name lookups. The lookups are refused: the host finds names for `fetch`, and nobody else needs them.

const codes = {
    NODATA: "ENODATA", FORMERR: "EFORMERR", SERVFAIL: "ESERVFAIL", NOTFOUND: "ENOTFOUND", NOTIMP: "ENOTIMP",
    REFUSED: "EREFUSED", BADQUERY: "EBADQUERY", BADNAME: "EBADNAME", BADFAMILY: "EBADFAMILY", BADRESP: "EBADRESP",
    CONNREFUSED: "ECONNREFUSED", TIMEOUT: "ETIMEOUT", EOF: "EOF", FILE: "EFILE", NOMEM: "ENOMEM",
    DESTRUCTION: "EDESTRUCTION", BADSTR: "EBADSTR", BADFLAGS: "EBADFLAGS", NONAME: "ENONAME", BADHINTS: "EBADHINTS",
    NOTINITIALIZED: "ENOTINITIALIZED", LOADIPHLPAPI: "ELOADIPHLPAPI", ADDRGETNETWORKPARAMS: "EADDRGETNETWORKPARAMS",
    CANCELLED: "ECANCELLED",
};

let order = "verbatim";

module.exports = {
    ...codes, ADDRCONFIG: 32, ALL: 16, V4MAPPED: 8,
    getDefaultResultOrder: () => order, setDefaultResultOrder: (wanted: string) => { order = wanted; },
    get promises() { return require("dns/promises"); },
};
