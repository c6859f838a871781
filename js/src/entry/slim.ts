// For applications that load the module themselves, and for libraries, which leave that choice to the application.
export * from "../api.ts";
export { init } from "../core.ts";
