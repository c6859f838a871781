/** The configuration that is found by itself. A hook looks for it too, and must not load what reads one for that. */
export const NAME = "loopwarden.json";
