/**
 * The file name of the default configuration. In a separate file, so that a hook need not load the code that reads it.
 */
export const NAME = "loopwarden.json";

/** Maximum length of a configuration, in characters or bytes: a repository may contain anything. */
export const MAX_CONFIG: number = 256 * 1024;
