/** The configuration that is found by itself. A hook looks for it too, and must not load what reads one for that. */
export const NAME = "loopwarden.json";

/** Characters of a configuration, at most: a repository may hold anything. */
export const LARGEST: number = 256 * 1024;
