// Addresses. Connections are refused: what an extension sends goes through `fetch`, `http` and `https`.

const PART = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const FOUR = new RegExp(`^(?:${PART}\\.){3}${PART}$`);

function isIPv4(text: unknown): boolean {
    return FOUR.test(String(text));
}

function isIPv6(text: unknown): boolean {
    const address = String(text).replace(/%[0-9a-zA-Z.:-]+$/, "");
    const halves = address.split("::");
    if (halves.length > 2) return false;
    let count = 0;
    for (const [at, half] of halves.entries()) {
        const groups = half === "" && halves.length === 2 ? [] : half.split(":");
        for (const [place, group] of groups.entries()) {
            const isLast = at === halves.length - 1 && place === groups.length - 1;
            if (isLast && group.includes(".") && isIPv4(group)) count += 2;
            else if (/^[0-9a-fA-F]{1,4}$/.test(group)) count += 1;
            else return false;
        }
    }
    return halves.length === 2 ? count < 8 : count === 8;
}

module.exports = {
    isIPv4, isIPv6, isIP: (text: unknown) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0),
    getDefaultAutoSelectFamily: () => true, setDefaultAutoSelectFamily() {},
    getDefaultAutoSelectFamilyAttemptTimeout: () => 250, setDefaultAutoSelectFamilyAttemptTimeout() {},
};
